import type pg from "pg";
import type { ServerTable } from "../server.ts";
import type { PostgresAddress } from "./postgres-address.ts";

/** The table that the locks are in. */
export interface LockTable extends ServerTable {
  /** Describes the table; undefined if it does not exist. */
  look(): Promise<TableFacts | undefined>;
}

/** The facts about a table. */
export interface TableFacts {
  /** Whether a crash empties it. */
  readonly isUnlogged: boolean;
  /** The names of the columns that it lacks. */
  readonly missingColumns: readonly string[];
  /** The privileges that the user lacks. */
  readonly missingPrivileges: readonly string[];
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

/**
 * Returns the table at an address.
 *
 * @param statement creates the table, and names one column in each line
 */
export function lockTable(
  pool: pg.Pool,
  { schema = "public", table = "holdfast_locks" }: Pick<PostgresAddress, "schema" | "table">,
  statement: string,
): LockTable {
  const columns = [...statement.matchAll(/^ {2}(\w+) /gm)].map(([, column]) => column as string);
  const look = async (): Promise<TableFacts | undefined> => {
    const { rows } = await pool.query(lookup, [schema, table]);
    const [row] = rows as Readonly<Record<string, unknown>>[];
    if (row === undefined) return undefined;
    const found = row.columns as readonly string[];
    return {
      isUnlogged: row.unlogged === true,
      missingColumns: columns.filter((column) => !found.includes(column)),
      missingPrivileges: privileges.filter((privilege) => row[privilege] !== true),
    };
  };
  return {
    statement,
    look,
    async create() {
      const before = await look();
      if (before === undefined) await createOnce(pool, statement);
      const { missingColumns = [] } = before ?? {};
      if (missingColumns.length === 0) return before === undefined;
      const name = [schema, table].map((each) => `"${each.replaceAll('"', '""')}"`).join(".");
      throw new Error(`the table ${name} exists, but lacks columns: ${missingColumns.join(", ")}`);
    },
  };
}

async function createOnce(pool: pg.Pool, statement: string): Promise<void> {
  try {
    await pool.query(statement);
  } catch (error) {
    if (!alreadyThere.includes(String((error as { readonly code?: unknown }).code))) throw error;
  }
}
