import type { LockNodeSubject } from "@holdfast/conformance";
import { startTcpProxy } from "@holdfast/conformance/tcp-proxy";
import { createTable } from "@holdfast/postgres";
import { reusedConnections } from "@holdfast/testkit";
import { bundleRival } from "@holdfast/testkit/bundle-rival";
import { type PostgresServer, startPostgresServer } from "@holdfast/testkit/postgres-server";
import pg from "pg";
import { afterAll } from "vitest";
import { qualifiedName } from "../src/table.ts";
import { type OpenClient, openClient } from "./fixtures/rival.ts";

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

/** How many subjects were closed before a table is used again: the server has executed requests of cut connections then. */
const restingTables = 8;

/** Returns an empty table: one that was used before, if there are enough, as connections have statements prepared for it. */
async function nextTable(connectionString: string, used: string[]): Promise<string> {
  const pool = pools.get(connectionString);
  const table = used.length > restingTables ? used.shift() : undefined;
  if (pool === undefined || table === undefined) return freshTable(connectionString);
  const { rowCount } = await pool.query(`DELETE FROM ${qualifiedName({ table })}`);
  if ((rowCount ?? 0) > 100) await pool.query(`TRUNCATE ${qualifiedName({ table })}`);
  return table;
}

/**
 * Returns a function that creates subjects: each has two nodes behind a proxy, over a fresh table.
 *
 * @param server the server
 * @param library the client library
 * @param port the port to which clients connect: that of a PgBouncer before the server, which delivers no notifications
 */
export function subjectsOver(
  server: PostgresServer,
  library: OpenClient["library"],
  port: number = server.port,
): () => Promise<LockNodeSubject> {
  const through = (ownPort: number) => server.connectionString.replace(`:${server.port}/`, `:${ownPort}/`);
  const connections = reusedConnections(async () => {
    const proxy = await startTcpProxy({ port });
    const open = () => openClient({ connectionString: through(proxy.port), library });
    return { proxy, clients: [open(), open()] };
  });
  afterAll(connections.close);
  const used: string[] = [];
  return async () => {
    const table = await nextTable(server.connectionString, used);
    const options = { table, wakeUps: port === server.port };
    const subject = await connections.open(options);
    return {
      ...subject,
      close: async () => {
        await subject.close();
        used.push(table);
      },
      rivalModule: {
        ...(await bundleRival(new URL("./fixtures/rival.ts", import.meta.url))),
        options: { connectionString: through(port), library, ...options },
      },
    };
  };
}

/** Runs a step in a transaction, which is rolled back if the step fails. */
export async function inTransactionOf<T>(
  pool: pg.Pool,
  step: (client: pg.PoolClient) => Promise<T>,
  begin = "BEGIN",
): Promise<T> {
  const client = await pool.connect();
  try {
    await client.query(begin);
    const result = await step(client);
    await client.query("COMMIT");
    return result;
  } catch (error) {
    await client.query("ROLLBACK");
    throw error;
  } finally {
    client.release();
  }
}
