import { type Lock, Redlock } from "@holdfast/core";
import { type PostgresNode, postgresNode } from "@holdfast/postgres";
import pg from "pg";
import { expect } from "vitest";
import { freshTable } from "./servers.ts";

/** A library: calls `holds` in a transaction, and with what runs statements outside of one. Both as the README shows. */
export interface Library {
  inTransaction(holds: PostgresNode["holds"], lock: Lock): Promise<boolean>;
  outside(holds: PostgresNode["holds"], lock: Lock): Promise<boolean>;
  end(): Promise<unknown>;
}

/** Opens a pool. Its last connections may still be closing when the server stops. */
export function openPool(connectionString: string): pg.Pool {
  const pool = new pg.Pool({ connectionString, max: 2 });
  pool.on("error", () => {});
  return pool;
}

/** Judges whether `holds` keeps a lock in a transaction of the library, and is refused outside of one. Ends the library. */
export async function expectHolds(library: Library, connectionString: string): Promise<void> {
  const pool = openPool(connectionString);
  const node = postgresNode(pool, { table: await freshTable(connectionString), wakeUps: false });
  const redlock = new Redlock([node], { nodeTimeoutMs: 5_000 });
  const lock = await redlock.acquire(["invoice:41", "prüfer 🔒"], { ttlMs: 60_000 });
  try {
    expect(await library.inTransaction(node.holds, lock)).toBe(true);
    await expect(library.outside(node.holds, lock)).rejects.toThrow(
      "not a client without a transaction: run BEGIN first",
    );
    await lock.release();
    expect(await library.inTransaction(node.holds, lock)).toBe(false);
  } finally {
    await library.end();
    await redlock.close();
    await pool.end();
  }
}
