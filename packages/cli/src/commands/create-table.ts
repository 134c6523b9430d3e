import { type Command, serverCommand } from "../command.ts";
import { exitCodes, UsageError } from "../exit-codes.ts";
import { withUsageErrors } from "../failures.ts";
import { print } from "../output/print.ts";

/** `holdfast create-table`: prints the statement that creates the table of the locks. */
export const createTableCommand: Command = serverCommand(
  {
    line: "create-table",
    rest: "--node <address> [options]",
    describe: "Print the statement that creates the table for locks in a database",
    text:
      "Prints the statement that creates the table for locks in each PostgreSQL, MySQL or MariaDB database,\n" +
      "unless it exists. Needs no connection. Users that lock need SELECT, INSERT and UPDATE on the table.\n" +
      "Servers of other kinds need no table.",
    options: {},
    examples: ["$0 create-table --node postgres://db.internal/app | psql -1 app"],
  },
  async (_, { addresses }) => {
    const statements = await withUsageErrors(() =>
      Promise.all(addresses.map(({ kind, where }) => kind.createTable?.(where))),
    );
    const tables = [...new Set(statements.flatMap((statement) => (statement === undefined ? [] : `${statement};`)))];
    if (tables.length === 0) {
      throw new UsageError("none of the servers needs a table: name a database with --node postgres://… or mysql://…");
    }
    print(tables.join("\n\n"));
    return exitCodes.ok;
  },
);
