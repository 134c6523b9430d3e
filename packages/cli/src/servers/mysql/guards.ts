import type { Pool, RowDataPacket } from "mysql2/promise";
import type { GuardFacts } from "../server.ts";

/** The triggers of the guarded tables. The server shows those of tables on which the user has the right TRIGGER. */
const lookup = `
  SELECT event_object_schema AS \`schema\`, event_object_table AS \`table\`, event_manipulation AS event,
    action_statement AS body, engine AS engine
  FROM information_schema.triggers
    JOIN information_schema.tables ON table_schema = event_object_schema AND table_name = event_object_table
  WHERE LEFT(trigger_name, 15) = 'holdfast_guard_' AND action_timing = 'AFTER' ORDER BY 1, 2`;

interface Trigger extends RowDataPacket {
  readonly schema: string;
  readonly table: string;
  readonly event: "INSERT" | "UPDATE" | "DELETE";
  readonly body: string;
  readonly engine: string;
}

/** The last call of a trigger: the lock of the row, the name of the table, and whether it only warns. */
const lastCall = /^.*CALL .*`holdfast_admit`\((.*), CONVERT\(X'[\da-f]*' USING utf8mb4\), (true|false)\);/is;

/** Lists the tables that refuse stale writers, or warn of them. */
export async function listGuards(pool: Pool): Promise<readonly GuardFacts[]> {
  const [triggers] = await pool.query<Trigger[]>(lookup);
  const tables = new Map<string, Trigger[]>();
  for (const trigger of triggers) {
    const key = JSON.stringify([trigger.schema, trigger.table]);
    tables.set(key, [...(tables.get(key) ?? []), trigger]);
  }
  return [...tables.values()].map(factsOf);
}

/**
 * A table is guarded when each event has a trigger, with the same rule: two triggers while a migration replaces one. MySQL spells
 * columns of this schema in upper case, unless they are renamed.
 */
function factsOf(triggers: readonly Trigger[]): GuardFacts {
  const [{ schema, table, engine }] = triggers as [Trigger];
  const calls = triggers.map(({ event, body }) => {
    const [, lock = null, warns] = lastCall.exec(body) ?? [];
    return { event, lock, warns };
  });
  const events = new Set(calls.flatMap(({ event, warns }) => (warns === undefined ? [] : event)));
  const refusing = new Set(calls.flatMap(({ event, warns }) => (warns === "false" ? event : [])));
  const rules = new Set(calls.map((call) => call.lock?.replaceAll(/\bOLD\b/g, "NEW")));
  const isWhole = events.size === 3 && rules.size === 1 && engine === "InnoDB";
  const lock = calls.find(({ event }) => event === "INSERT")?.lock ?? null;
  const mode = !isWhole ? "incomplete" : refusing.size === 3 ? "refuse" : "warn";
  return { schema, table, mode, lock: lock && describeLock(lock) };
}

/** Describes the SQL that `createGuard` writes for the lock of a new row. */
function describeLock(sql: string): string {
  const [, hex, column, expression] =
    /^CONVERT\((?:X'([\da-f]*)'|NEW\.`(.*)`|\((.*)\n\)) USING utf8mb4\)$/is.exec(sql) ?? [];
  if (hex !== undefined) return `name ${Buffer.from(hex, "hex")}`;
  if (column !== undefined) return `column ${column.replaceAll("``", "`")}`;
  return `expression ${expression ?? sql}`;
}
