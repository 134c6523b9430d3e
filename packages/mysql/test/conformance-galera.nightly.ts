/** The suite over two members of a Galera cluster: two claims at once may both be granted, until one fails its certification. */
import { describeLockNode } from "@holdfast/conformance";
import { freePort } from "@holdfast/testkit";
import type { MysqlServer } from "@holdfast/testkit/mysql-server";
import mysql from "mysql2/promise";
import { expect, test } from "vitest";
import { openClient } from "./fixtures/rival.ts";
import { freshTable, rivalModule, serverOfFile } from "./servers.ts";

/** The settings of a member that listens on one port for the members, and joins those that listen on others. */
async function memberOf(joined: readonly number[], port: number) {
  const [incrementalPort, wholePort] = [await freePort(), await freePort()];
  const listening = `gmcast.listen_addr=tcp://127.0.0.1:${port};ist.recv_addr=127.0.0.1:${incrementalPort}`;
  return {
    wsrep_on: "ON",
    wsrep_provider: "/usr/lib/galera/libgalera_smm.so", // the package mariadb-server brings it along
    wsrep_cluster_address: `gcomm://${joined.map((each) => `127.0.0.1:${each}`).join(",")}`,
    wsrep_node_address: `127.0.0.1:${port}`,
    wsrep_provider_options: `base_host=127.0.0.1;base_port=${port};${listening}`,
    wsrep_sst_method: "rsync",
    wsrep_sst_receive_address: `127.0.0.1:${wholePort}`,
    wsrep_sync_wait: 7,
    binlog_format: "ROW",
    innodb_autoinc_lock_mode: 2,
  };
}

const port = await freePort();
const first = await serverOfFile({ settings: await memberOf([], port) });
const second = await serverOfFile({ settings: await memberOf([port], await freePort()) });

async function membersSeenBy({ uri }: MysqlServer): Promise<string> {
  const connection = await mysql.createConnection(uri);
  const [rows] = await connection.query<mysql.RowDataPacket[]>("SHOW STATUS LIKE 'wsrep_cluster_size'");
  await connection.end();
  return rows[0]?.Value;
}

test("both members belong to one cluster", async () => {
  expect(await membersSeenBy(first)).toBe("2");
  expect(await membersSeenBy(second)).toBe("2");
});

describeLockNode("mysqlNode() over two members of a Galera cluster", {
  noServer: "the two clients use different servers",
  async create() {
    const options = { table: await freshTable(first.uri) };
    const clients = [openClient(first), openClient(second)] as const;
    const [node, rival] = [clients[0].openNode(options), clients[1].openNode(options)];
    return {
      node,
      rival,
      rivalModule: await rivalModule({ uri: second.uri, ...options }),
      async close() {
        await Promise.all([node.close(), rival.close()]);
        await Promise.all(clients.map((client) => client.close()));
      },
    };
  },
});
