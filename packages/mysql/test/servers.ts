import type { LockNodeSubject, RivalModule } from "@holdfast/conformance";
import { startTcpProxy } from "@holdfast/conformance/tcp-proxy";
import { createTable, type MysqlNodeOptions } from "@holdfast/mysql";
import { reusedConnections } from "@holdfast/testkit";
import { bundleRival } from "@holdfast/testkit/bundle-rival";
import { type MysqlServer, type MysqlServerOptions, startMysqlServer } from "@holdfast/testkit/mysql-server";
import mysql from "mysql2/promise";
import { afterAll } from "vitest";
import { type OpenClient, openClient } from "./fixtures/rival.ts";

/** Starts a server for the tests of a file. */
export async function serverOfFile(options?: MysqlServerOptions): Promise<MysqlServer> {
  const server = await startMysqlServer(options);
  const pool = mysql.createPool({ uri: server.uri, connectionLimit: 1 });
  pools.set(server.uri, pool);
  afterAll(async () => {
    pools.delete(server.uri);
    await pool.end();
    await server.stop();
  });
  return server;
}

/** Connections to the servers of files, for the tables of their tests. */
const pools = new Map<string, mysql.Pool>();

let tables = 0;

/** Creates a fresh table on the server of this file, and returns its name. */
export async function freshTable(uri: string): Promise<string> {
  tables += 1;
  const table = `locks ${tables}`;
  await pools.get(uri)?.query(createTable({ table }));
  return table;
}

/** How to open a node in another process. */
export async function rivalModule(options: OpenClient & MysqlNodeOptions): Promise<RivalModule> {
  return { ...(await bundleRival(new URL("./fixtures/rival.ts", import.meta.url))), options };
}

/** Returns a function that creates subjects: each has two nodes behind a proxy, over a fresh table. */
export function subjectsOver({ port, uri }: MysqlServer): () => Promise<LockNodeSubject> {
  const through = (ownPort: number) => uri.replace(`:${port}/`, `:${ownPort}/`);
  const connections = reusedConnections(async () => {
    const proxy = await startTcpProxy({ port });
    const open = () => openClient({ uri: through(proxy.port) });
    return { proxy, clients: [open(), open()] };
  });
  afterAll(connections.close);
  return async () => {
    const options = { table: await freshTable(uri) };
    return {
      ...(await connections.open(options)),
      rivalModule: await rivalModule({ uri, ...options }),
    };
  };
}
