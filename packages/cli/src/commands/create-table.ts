import { type Command, serverCommand } from "../command.ts";
import { exitCodes, Failure, UsageError } from "../exit-codes.ts";
import { connectionProblems, reasonOf, withUsageErrors } from "../failures.ts";
import { flag } from "../options/option.ts";
import type { ServerOptions } from "../options/server-options.ts";
import { print } from "../output/print.ts";
import type { Server } from "../servers/server.ts";
import { closeServers, openServers, untilConnected } from "../servers/servers.ts";
import { setsOf } from "../servers/sets.ts";

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
  async (args, options) =>
    withDatabases(options, "create the table", async (servers, connected) => {
      const tables = servers.flatMap((server) => (server.table === undefined ? [] : { server, table: server.table }));
      if (tables.length === 0) {
        throw new UsageError(
          "none of the servers needs a table: name a database with --node postgres://… or mysql://…",
        );
      }
      if (args.print) {
        print([...new Set(tables.map(({ table }) => `${table.statement};`))].join("\n\n"));
        return exitCodes.ok;
      }
      for (const { server, table } of tables) {
        const isNew = await connected(server, () => table.create());
        print(`${server.name}: ${isNew ? "created the table" : "the table exists"}`);
      }
      return exitCodes.ok;
    }),
);

/** Waits for a server, and calls a function that uses it. */
type Connected = <T>(server: Server, use: () => Promise<T>) => Promise<T>;

/**
 * Opens servers, and closes them when `use` has ended.
 *
 * @param what says in errors what could not be done
 */
export async function withDatabases<T>(
  options: ServerOptions,
  what: string,
  use: (servers: readonly Server[], connected: Connected) => Promise<T>,
): Promise<T> {
  const servers = await withUsageErrors(() => openServers(options));
  try {
    return await use(servers, async (server, call) => {
      await untilConnected(setsOf(servers, undefined));
      if (!(await server.firstConnection)) {
        throw new Failure(`could not ${what}${connectionProblems([server])}`, exitCodes.noQuorum);
      }
      return call().catch((error: Error) => {
        throw new Failure(`could not ${what}\n  ${server.name}: ${reasonOf(error)}`, exitCodes.misconfigured);
      });
    });
  } finally {
    await closeServers(servers);
  }
}
