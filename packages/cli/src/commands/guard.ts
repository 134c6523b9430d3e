import type { GuardedTable } from "@holdfast/postgres";
import type { Argv, CommandModule } from "yargs";
import { exitCodes, Failure, UsageError } from "../exit-codes.ts";
import { connectionProblems, reasonOf, withUsageErrors } from "../failures.ts";
import { json, text } from "../options/definitions.ts";
import { only, readServerOptions, type ServerArguments, withServerOptions } from "../options/server-options.ts";
import { print, printable } from "../output/print.ts";
import { table } from "../output/table.ts";
import { loadDriver } from "../servers/load-driver.ts";
import type { GuardFacts } from "../servers/server.ts";
import { closeServers, openServers, untilConnected } from "../servers/servers.ts";
import { setsOf } from "../servers/sets.ts";

interface GuardArguments extends ServerArguments {
  readonly table: readonly string[] | undefined;
  readonly column: string | undefined;
  readonly name: string | undefined;
  readonly expression: string | undefined;
  readonly mode: "warn" | "refuse" | undefined;
  readonly schema: string | undefined;
  readonly remove: boolean | undefined;
  readonly check: boolean | undefined;
  readonly json: boolean | undefined;
}

const ofMigration = ["column", "name", "expression", "mode", "schema"];

/** `holdfast guard`: prints migrations that make tables refuse stale writers, and lists these tables. */
export const guardCommand: CommandModule<object, GuardArguments> = {
  command: "guard",
  describe: "Print a migration after which tables refuse stale writers, or list such tables",
  builder: (yargs) =>
    withServerOptions(yargs)
      .usage(
        "$0 guard --table <table> (--column … | --name … | --expression …) [options]\n\n" +
          "Prints the SQL of a migration for PostgreSQL: the tables then refuse writes of transactions that have\n" +
          "not stated the fencing token of the row's lock, or an older one than is known. Needs no connection,\n" +
          "unless --check lists the guarded tables of a database.",
      )
      .options({
        table: { ...text, array: true, describe: "A table, as name or schema.name; repeated for each" },
        column: { ...text, describe: "The column with the name of the lock of each row" },
        name: { ...text, describe: "The name of one lock for all rows" },
        expression: { ...text, describe: "An SQL expression over the columns for the name of the lock of each row" },
        mode: { choices: ["warn", "refuse"], describe: "What happens to other writes (default: refuse)" },
        schema: { ...text, describe: "The schema of the table of tokens (default: public)" },
        remove: { type: "boolean", conflicts: ofMigration, describe: "Print the migration that removes it" },
        check: {
          type: "boolean",
          conflicts: [...ofMigration, "remove"],
          describe: "List the guarded tables of a database; exit with 1 unless all of them, or each --table, refuse",
        },
        json: { ...json, implies: "check" },
      })
      .example("$0 guard --table invoices --expression \"'invoice:' || id\" --mode warn | psql -1 app", "")
      .example("$0 guard --check --node postgres://db.internal/app", "") as unknown as Argv<GuardArguments>,
  handler: async (args) => {
    const tables = (args.table ?? []).map(nameOf);
    if (args.check) process.exitCode = await check(args, tables);
    else print(`${await migrationOf(args, tables)};`);
  },
};

/** @throws {UsageError} for a name of more than two parts */
function nameOf(given: string): Pick<GuardedTable, "schema" | "table"> {
  const [name = "", schema, more] = given.split(".").reverse();
  if (more === undefined) return { ...(schema !== undefined && { schema }), table: name };
  throw new UsageError(`--table must be a name or schema.name, not ${JSON.stringify(given)}`);
}

async function migrationOf(args: GuardArguments, tables: readonly GuardedTable[]): Promise<string> {
  const { createGuard, removeGuard } = await loadDriver("guarded tables", ["@holdfast/postgres"], () => {
    return import("@holdfast/postgres");
  });
  if (tables.length === 0) throw new UsageError("name the tables to guard with --table");
  if (args.remove) return withUsageErrors(() => removeGuard({ tables }));
  const given = (["column", "name", "expression"] as const).filter((rule) => args[rule] !== undefined);
  const [rule] = given;
  if (rule === undefined || given.length > 1) {
    throw new UsageError("name the lock of each row with one of --column, --name and --expression");
  }
  const named = tables.map((each) => ({ ...each, [rule]: only(`--${rule}`, args[rule]) }));
  const schema = only("--schema", args.schema);
  return withUsageErrors(() => createGuard({ tables: named, mode: args.mode, schema }));
}

/** Lists the guarded tables, and returns whether they refuse, as an exit code. */
async function check(args: GuardArguments, wanted: readonly GuardedTable[]): Promise<number> {
  const servers = await withUsageErrors(async () => openServers(await readServerOptions(args, process.env)));
  try {
    const [server, ...others] = servers.filter(({ guards }) => guards !== undefined);
    if (server?.guards === undefined || others.length > 0) {
      throw new UsageError("name one database with --node postgres://…");
    }
    await untilConnected(setsOf(servers, undefined));
    if (!(await server.firstConnection)) {
      throw new Failure(`could not list the guarded tables${connectionProblems([server])}`, exitCodes.noQuorum);
    }
    const found = await server.guards().catch((error: Error) => {
      throw new Failure(`could not list the guarded tables\n  ${reasonOf(error)}`, exitCodes.misconfigured);
    });
    const listed = wanted.length === 0 ? found : wanted.map((each) => factsOf(each, found));
    print(args.json ? JSON.stringify({ tables: listed }) : textOf(listed));
    return listed.length > 0 && listed.every(({ mode }) => mode === "refuse") ? exitCodes.ok : exitCodes.no;
  } finally {
    await closeServers(servers);
  }
}

function factsOf({ schema = "public", table }: GuardedTable, found: readonly GuardFacts[]): GuardFacts {
  const facts = found.find((each) => each.schema === schema && each.table === table);
  return facts ?? { schema, table, mode: "none", lock: null };
}

function textOf(tables: readonly GuardFacts[]): string {
  if (tables.length === 0) return "no table is guarded";
  const rows = tables.map((each) => [`${each.schema}.${each.table}`, each.mode, each.lock ?? ""].map(printable));
  return table(["table", "mode", "lock of a row"], rows);
}
