import { type LockNode, Redlock, type RedlockOptions } from "@holdfast/core";
import { createTable, type PostgresNode, postgresNode } from "@holdfast/postgres";
import {
  type PostgresServer,
  type PostgresServerOptions,
  startPostgresServer,
} from "@holdfast/testkit/postgres-server";
import pg from "pg";
import postgres from "postgres";
import { onTestFinished } from "vitest";

/** Starts a server for one test, with the table of the locks. */
export async function startServer(options: PostgresServerOptions = {}): Promise<PostgresServer> {
  const server = await startPostgresServer({ fsync: true, ...options });
  onTestFinished(() => server.stop());
  const pool = openPool(server.connectionString, 1);
  await pool.query(createTable());
  await pool.end();
  return server;
}

/** Opens a pool whose idle connections may be lost. */
export function openPool(connectionString: string, max: number): pg.Pool {
  const pool = new pg.Pool({ connectionString, max });
  pool.on("error", () => {});
  return pool;
}

/** A `Redlock` over one server, and its pool. */
export interface Client {
  readonly pool: pg.Pool;
  readonly node: PostgresNode;
  readonly redlock: Redlock;
}

/** Options of {@link openClient}. */
export interface ClientOptions extends RedlockOptions {
  /** Whether the client's clock is far behind, so that its fencing tokens rest on the counters alone. Default: false. */
  readonly isBehind?: boolean;
  /** Whether the node uses postgres.js in place of the pool. Default: false. */
  readonly overPostgresJs?: boolean;
}

/** Opens a client for one test. Its locks last long enough to outlive any fault, and it makes one attempt. */
export function openClient(connectionString: string, options: ClientOptions = {}): Client {
  const { isBehind = false, overPostgresJs = false, ...lockOptions } = options;
  const pool = openPool(connectionString, 4);
  // When a connection is lost while postgres.js fetches types, its error is an unhandled rejection.
  const sql = overPostgresJs ? postgres(connectionString, { max: 4, fetch_types: false }) : undefined;
  const node = postgresNode(sql ?? pool);
  const defaults = { ttlMs: 60_000, nodeTimeoutMs: 2_000, waitTimeoutMs: 0 };
  const redlock = new Redlock([isBehind ? withoutHints(node) : node], { ...defaults, ...lockOptions });
  onTestFinished(async () => {
    await redlock.close();
    // Without a timeout, in seconds, postgres.js may wait forever for a connection that was lost.
    await Promise.all([pool.end(), sql?.end({ timeout: 1 })]);
  });
  return { pool, node, redlock };
}

function withoutHints(node: LockNode): LockNode {
  return { ...node, acquire: (request) => node.acquire({ ...request, fenceHint: 1 }) };
}
