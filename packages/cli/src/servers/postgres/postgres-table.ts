import type pg from "pg";
import { type LockTable, lockTable, type TableFacts } from "../database/lock-table.ts";
import type { PostgresAddress } from "./postgres-address.ts";

/** The facts about a table of PostgreSQL. */
export interface PostgresTableFacts extends TableFacts {
  /** Whether a crash empties it. */
  readonly isUnlogged: boolean;
}

/** Finds a table, whether or not the user may use it. */
const lookup = `
  SELECT c.relpersistence = 'u' AS unlogged,
    array(SELECT attname::text FROM pg_attribute WHERE attrelid = c.oid AND attnum > 0 AND NOT attisdropped) AS columns,
    has_schema_privilege(n.oid, 'USAGE') AS "USAGE", has_table_privilege(c.oid, 'SELECT') AS "SELECT",
    has_table_privilege(c.oid, 'INSERT') AS "INSERT", has_table_privilege(c.oid, 'UPDATE') AS "UPDATE"
  FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
  WHERE n.nspname = $1 AND c.relname = $2 AND c.relkind IN ('r', 'p')`;

const privileges = ["USAGE", "SELECT", "INSERT", "UPDATE"];

/** Another connection has created the same table at the same time. */
const alreadyThere = ["23505", "42P07"];

/** Returns the table at an address, which the statement creates. */
export function postgresTable(
  pool: pg.Pool,
  { schema = "public", table = "holdfast_locks" }: Pick<PostgresAddress, "schema" | "table">,
  statement: string,
): LockTable<PostgresTableFacts> {
  return lockTable({
    name: [schema, table].map((each) => `"${each.replaceAll('"', '""')}"`).join("."),
    statement,
    async execute(text) {
      try {
        await pool.query(text);
      } catch (error) {
        if (!alreadyThere.includes(String((error as { readonly code?: unknown }).code))) throw error;
      }
    },
    async describe(columns) {
      const { rows } = await pool.query(lookup, [schema, table]);
      const [row] = rows as Readonly<Record<string, unknown>>[];
      if (row === undefined) return undefined;
      const found = row.columns as readonly string[];
      return {
        isUnlogged: row.unlogged === true,
        missingColumns: columns.filter((column) => !found.includes(column)),
        missingPrivileges: privileges.filter((privilege) => row[privilege] !== true),
      };
    },
  });
}
