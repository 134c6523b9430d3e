import type pg from "pg";
import type { GuardFacts } from "../server.ts";

/** The triggers of a table and of its partitions. A partition has a copy of those for rows. */
const lookup = `
  SELECT nspname AS schema, relname AS "table",
    CASE WHEN EXISTS (
      SELECT FROM pg_trigger AS each WHERE each.tgname IN ('holdfast_guard', 'holdfast_guard_truncate')
        AND each.tgenabled NOT IN ('O', 'A')
        AND (each.tgrelid = guard.tgrelid OR each.tgrelid IN (SELECT relid FROM pg_partition_tree(guard.tgrelid)))
    ) THEN 'disabled' ELSE split_part(encode(guard.tgargs, 'escape'), '\\000', 1) END AS mode,
    obj_description(guard.oid, 'pg_trigger') AS lock
  FROM pg_trigger AS guard JOIN pg_class ON pg_class.oid = guard.tgrelid JOIN pg_namespace ON pg_namespace.oid = relnamespace
  WHERE guard.tgname = 'holdfast_guard' AND guard.tgparentid = 0 ORDER BY nspname, relname`;

/** Lists the tables that refuse stale writers, or warn of them. */
export async function listGuards(pool: pg.Pool): Promise<readonly GuardFacts[]> {
  return (await pool.query<GuardFacts>(lookup)).rows;
}
