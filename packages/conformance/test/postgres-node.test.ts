import { startPostgresServer } from "@holdfast/testkit/postgres-server";
import pg from "pg";
import { afterAll } from "vitest";
import { brokenNodes, describeBrokenNodes, describeLockNode, type LockNodeSubject } from "../src/index.ts";
import { startTcpProxy } from "../src/tcp-proxy.ts";
import { openPostgresNode, postgresSchema } from "./fixtures/postgres-node.ts";
import { sourceArgs } from "./subjects.ts";

const server = await startPostgresServer({ fsync: true });
afterAll(() => server.stop());
const client = new pg.Client(server.connectionString);
await client.connect();
await client.query(postgresSchema);
await client.end();

let subjects = 0;

async function createSubject(): Promise<LockNodeSubject> {
  subjects += 1;
  const prefix = `subject ${subjects}`;
  const proxy = await startTcpProxy({ port: server.port });
  const behindProxy = server.connectionString.replace(`:${server.port}/`, `:${proxy.port}/`);
  const clients = [openPostgresNode(behindProxy, prefix), openPostgresNode(behindProxy, prefix)] as const;
  return {
    node: clients[0].node,
    rival: clients[1].node,
    rivalModule: {
      url: new URL("./fixtures/postgres-rival.ts", import.meta.url),
      options: { connectionString: server.connectionString, prefix },
      execArgv: sourceArgs,
    },
    server: proxy,
    async close() {
      await Promise.all(clients.map((each) => each.close()));
      await proxy.close();
    },
  };
}

// A real database with fsync shows that an ordinary store can pass the suite, in the time that the README states.
describeLockNode("a node over PostgreSQL", { create: createSubject });
describeBrokenNodes("a node over PostgreSQL", {
  create: createSubject,
  brokenNodes: brokenNodes.filter(({ needs }) => needs?.includes("otherProcess") || needs?.includes("server")),
});
