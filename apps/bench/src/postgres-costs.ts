/** `pnpm --filter @holdfast/bench postgres-costs`: what a name costs that is locked all the time. */

import { createTable, postgresNode } from "@holdfast/postgres";
import { createCleanup } from "@holdfast/testkit/cleanup";
import { startPostgresServer } from "@holdfast/testkit/postgres-server";
import pg from "pg";
import { inTurns, record, report, type Times } from "./measure/in-turns.ts";

const cleanup = createCleanup();
try {
  await measurePairs();
} finally {
  await cleanup.run();
}

/** Starts a server, whose commits are not synced to the disk, and connects to it. */
async function start(): Promise<{ client: pg.Client; connectionString: string }> {
  const { connectionString, stop } = await startPostgresServer({ settings: { synchronous_commit: "off" } });
  cleanup.defer(stop);
  const client = new pg.Client(connectionString);
  client.on("error", () => {});
  await client.connect();
  cleanup.defer(() => client.end());
  return { client, connectionString };
}

/** Measures pairs of acquire and release on one name: with names for the statements, and while another transaction is open. */
async function measurePairs(): Promise<void> {
  const { client, connectionString } = await start();
  await client.query(createTable());
  const pool = new pg.Pool({ connectionString, max: 1 });
  const unnamed = new pg.Pool({ connectionString, max: 1 });
  for (const each of [pool, unnamed]) {
    each.on("error", () => {}); // the server stops
    cleanup.defer(() => each.end());
  }
  unnamed.on("connect", (connection) => {
    const query = connection.query.bind(connection) as (config: object, ...rest: unknown[]) => unknown;
    Object.assign(connection, { query: (config: object, ...rest: unknown[]) => query(withoutName(config), ...rest) });
  });
  const pairs = pairsOver(pool);
  const clients = { prepared: pairs, "not prepared": pairsOver(unnamed) };
  const title = "a pair of acquire and release on one name, not synced";
  const alternately = await inTurns(Object.keys(clients), (name) => clients[name as keyof typeof clients](200));
  report(title, alternately, "not prepared");

  const times: Times = new Map();
  for (let round = 0; round < 3; round++) {
    await pairs(200);
    record(times, "no other transaction", await pairs(300));
    await client.query("BEGIN ISOLATION LEVEL REPEATABLE READ");
    await client.query("SELECT FROM holdfast_locks");
    for (const [before, after] of [
      [0, 1_000],
      [1_000, 2_000],
      [2_000, 4_000],
      [4_000, 8_000],
    ] as const) {
      await pairs(after - before - 300);
      await pool.query("ANALYZE holdfast_locks"); // as autovacuum does every minute
      await pairs(100);
      record(times, `one that is open for ${after} pairs`, await pairs(200));
    }
    await client.query("COMMIT");
    await client.query("VACUUM holdfast_locks");
  }
  report(title, times, "no other transaction");
}

function withoutName(config: object): object {
  return "text" in config ? { ...config, name: undefined } : config;
}

/** Returns a function that locks a name and releases it, this often, and resolves with the time of each pair. */
function pairsOver(pool: pg.Pool): (count: number) => Promise<number> {
  const node = postgresNode(pool, { wakeUps: false });
  const resources = ["hot"];
  return async (count) => {
    const startMs = performance.now();
    for (let n = 0; n < count; n++) {
      const claim = { resources, owner: crypto.randomUUID(), timeoutMs: 10_000 };
      await node.acquire({ ...claim, ttlMs: 10_000, fenceHint: 1 });
      await node.release(claim);
    }
    return (performance.now() - startMs) / count;
  };
}
