import { type Command, serverCommand } from "../command.ts";
import { exitCodes, Failure, UsageError } from "../exit-codes.ts";
import { connectionProblems, reasonOf, withUsageErrors } from "../failures.ts";
import { flag } from "../options/option.ts";
import { print } from "../output/print.ts";
import type { Server, ServerTable } from "../servers/server.ts";
import { closeServers, openServers, untilConnected } from "../servers/servers.ts";
import { setsOf } from "../servers/sets.ts";

/** A server that stores locks in a table. */
type TableServer = Server & { readonly table: ServerTable };

/** `holdfast create-table`: creates the tables that locks need. */
export const createTableCommand: Command = serverCommand(
  {
    line: "create-table",
    rest: "--node <address> [options]",
    describe: "Create the table for locks in a database",
    text:
      "Creates the table for locks in each PostgreSQL, MySQL or MariaDB database, unless it exists. Users\n" +
      "that lock need SELECT, INSERT and UPDATE on it. Servers of other kinds need no table.",
    options: { print: flag("Print the statement instead, for example for a migration") },
  },
  async (args, options) => {
    const servers = await withUsageErrors(() => openServers(options));
    try {
      const withTables = servers.filter((server): server is TableServer => server.table !== undefined);
      if (withTables.length === 0) {
        throw new UsageError(
          "none of the servers needs a table: name a database with --node postgres://… or mysql://…",
        );
      }
      if (args.print) print([...new Set(withTables.map(({ table }) => `${table.statement};`))].join("\n\n"));
      else await createTables(withTables);
      return exitCodes.ok;
    } finally {
      await closeServers(servers);
    }
  },
);

async function createTables(servers: readonly TableServer[]): Promise<void> {
  await untilConnected(setsOf(servers, undefined));
  for (const server of servers) {
    if (!(await server.firstConnection)) {
      throw new Failure(`could not create the table${connectionProblems([server])}`, exitCodes.noQuorum);
    }
    try {
      const isNew = await server.table.create();
      print(`${server.name}: ${isNew ? "created the table" : "the table exists"}`);
    } catch (error) {
      const message = `could not create the table\n  ${server.name}: ${reasonOf(error as Error)}`;
      throw new Failure(message, exitCodes.misconfigured);
    }
  }
}
