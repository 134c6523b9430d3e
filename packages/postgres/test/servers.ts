import type { LockNodeSubject } from "@holdfast/conformance";
import { startTcpProxy } from "@holdfast/conformance/tcp-proxy";
import { createTable } from "@holdfast/postgres";
import { type PostgresServer, startPostgresServer } from "@holdfast/testkit/postgres-server";
import pg from "pg";
import { afterAll } from "vitest";
import { type OpenClient, openNode } from "./fixtures/rival.ts";

/** Starts a server for the tests of a file. */
export async function serverOfFile(): Promise<PostgresServer> {
  const server = await startPostgresServer({ fsync: true, settings: { max_prepared_transactions: 2 } });
  const pool = new pg.Pool({ connectionString: server.connectionString, max: 1 });
  pool.on("error", () => {});
  pools.set(server.connectionString, pool);
  afterAll(async () => {
    pools.delete(server.connectionString);
    await pool.end();
    await server.stop();
  });
  return server;
}

/** Connections to the servers of files, for the tables of their tests: a process of the server for each would cost more. */
const pools = new Map<string, pg.Pool>();

let tables = 0;

/** Creates a fresh table, and returns its name. */
export async function freshTable(connectionString: string): Promise<string> {
  tables += 1;
  const table = `locks ${tables}`;
  const pool = pools.get(connectionString) ?? new pg.Pool({ connectionString, max: 1 });
  await pool.query(createTable({ table }));
  if (!pools.has(connectionString)) await pool.end();
  return table;
}

/**
 * Creates a subject: two clients behind a proxy, over a fresh table.
 *
 * @param server the server
 * @param library the client library
 * @param port the port to which clients connect: that of a PgBouncer before the server, which delivers no notifications
 */
export async function subjectOver(
  server: PostgresServer,
  library: OpenClient["library"],
  port: number = server.port,
): Promise<LockNodeSubject> {
  const table = await freshTable(server.connectionString);
  const proxy = await startTcpProxy({ port });
  const wakeUps = port === server.port;
  const through = (ownPort: number) => server.connectionString.replace(`:${server.port}/`, `:${ownPort}/`);
  const open = () => openNode({ connectionString: through(proxy.port), table, library, wakeUps });
  const [node, rival] = await Promise.all([open(), open()]);
  return {
    node: node.node,
    rival: rival.node,
    rivalModule: {
      url: new URL("./fixtures/rival.ts", import.meta.url),
      options: { connectionString: through(port), table, library, wakeUps },
      execArgv: ["--import", "tsx"],
    },
    server: proxy,
    async close() {
      await Promise.all([node.close(), rival.close()]);
      await proxy.close();
    },
  };
}
