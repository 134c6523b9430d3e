import type { ServerTable } from "../server.ts";

/** The table that the locks are in. */
export interface LockTable<Facts extends TableFacts = TableFacts> extends ServerTable {
  /** Describes the table; undefined if it does not exist. */
  look(): Promise<Facts | undefined>;
}

/** The facts about a table. */
export interface TableFacts {
  /** The names of the columns that it lacks. */
  readonly missingColumns: readonly string[];
  /** The privileges that the user lacks. */
  readonly missingPrivileges: readonly string[];
}

/** How one kind of database describes and creates a table. */
export interface TableAccess<Facts extends TableFacts> {
  /** The quoted name of the table. */
  readonly name: string;
  /** Creates the table, if it does not exist, and names one column in each line. */
  readonly statement: string;
  /** Runs the statement. */
  execute(statement: string): Promise<unknown>;
  /** Describes the table, which should have these columns; undefined if it does not exist. */
  describe(columns: readonly string[]): Promise<Facts | undefined>;
}

/** Returns the table of a database of any kind. */
export function lockTable<Facts extends TableFacts>(access: TableAccess<Facts>): LockTable<Facts> {
  const { name, statement } = access;
  const columns = [...statement.matchAll(/^ {2}(\w+) /gm)].map(([, column]) => column as string);
  const look = () => access.describe(columns);
  return {
    statement,
    look,
    async create() {
      const before = await look();
      if (before === undefined) await access.execute(statement);
      const { missingColumns = [] } = before ?? {};
      if (missingColumns.length === 0) return before === undefined;
      throw new Error(`the table ${name} exists, but lacks columns: ${missingColumns.join(", ")}`);
    },
  };
}
