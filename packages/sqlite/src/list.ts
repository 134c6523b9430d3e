import { setImmediate } from "node:timers/promises";
import type { SqliteDatabase } from "./database.ts";

/** How many names are read at a time. */
const pageSize = 1_000;

/** Lists the held resources, page by page. The event loop and other processes get a turn in between. */
export async function* list(database: SqliteDatabase, nowMs: () => number): AsyncGenerator<string> {
  const after = database.prepare(
    `SELECT resource FROM holdfast_claims
    WHERE resource > ? AND owner IS NOT NULL AND expires_at_ms > ? ORDER BY resource LIMIT ${pageSize}`,
  );
  for (let last: string | undefined = ""; last !== undefined; await setImmediate()) {
    const rows = after.all(last, BigInt(nowMs())) as readonly { readonly resource: string }[];
    for (const { resource } of rows) yield JSON.parse(resource);
    last = rows.length < pageSize ? undefined : rows.at(-1)?.resource;
  }
}
