import { type Command, command } from "../command.ts";
import { exitCodes, Failure, UsageError } from "../exit-codes.ts";
import { connectionProblems, reasonOf, withUsageErrors } from "../failures.ts";
import { flag, json, list, oneOf, text, type ValuesOf } from "../options/option.ts";
import { readServerOptions, type ServerArguments, serverOptions } from "../options/server-options.ts";
import { print, printable } from "../output/print.ts";
import { table } from "../output/table.ts";
import { type GuardFacts, loadDriver } from "../servers/server.ts";
import { closeServers, openServers } from "../servers/servers.ts";

/** The name of a table, as it was given. */
interface NamedTable {
  readonly schema?: string;
  readonly table: string;
}

const ofMigration = ["column", "name", "expression", "mode", "schema"];

const guardOptions = {
  table: list("A table, as name or schema.name; repeated for each"),
  column: text("The column with the name of the lock of each row"),
  name: text("The name of one lock for all rows"),
  expression: text("An SQL expression over the columns for the name of the lock of each row"),
  mode: oneOf(["warn", "refuse"], "Warn of other writes, or refuse them", { usual: "refuse" }),
  schema: text("The schema or database of the table of tokens (default: public, or the current one)"),
  dialect: oneOf(["postgres", "mysql"], "The SQL to print; mysql also for MariaDB", { usual: "postgres" }),
  remove: flag("Print the migration that removes it", { conflicts: ofMigration }),
  check: flag("List the guarded tables of a database; exit with 1 unless all of them, or each --table, refuse", {
    conflicts: [...ofMigration, "remove", "dialect"],
  }),
  json: { ...json, implies: "check" },
};

type GuardArguments = ValuesOf<typeof guardOptions>;

/** `holdfast guard`: prints migrations that make tables refuse stale writers, and lists these tables. */
export const guardCommand: Command = command(
  {
    line: "guard",
    rest: "--table <table> (--column … | --name … | --expression …) [options]",
    describe: "Print a migration after which tables refuse stale writers, or list such tables",
    text:
      "Prints the SQL of a migration for PostgreSQL, or for MySQL and MariaDB: the tables then refuse writes\n" +
      "of transactions that have not stated the fencing token of the row's lock, or an older one than is\n" +
      "known. Needs no connection, unless --check lists the guarded tables of a database.",
    options: { ...guardOptions, ...serverOptions },
    examples: [
      "$0 guard --table invoices --expression \"'invoice:' || id\" --mode warn | psql -1 app",
      "$0 guard --dialect mysql --table invoices --expression \"CONCAT('invoice:', {row}.id)\" | mysql app",
      "$0 guard --check --node postgres://db.internal/app",
    ],
  },
  async (args) => {
    const tables = args.table.map(nameOf);
    if (args.check) return check(args, tables);
    print(await migrationOf(args, tables));
    return exitCodes.ok;
  },
);

/** @throws {UsageError} for a name of more than two parts */
function nameOf(given: string): NamedTable {
  const [table = "", schema, more] = given.split(".").reverse();
  if (more === undefined) return { ...(schema !== undefined && { schema }), table };
  throw new UsageError(`--table must be a name or schema.name, not ${JSON.stringify(given)}`);
}

async function migrationOf(args: GuardArguments, names: readonly NamedTable[]): Promise<string> {
  const { dialect = "postgres", mode, schema, remove } = args;
  const print = printers[dialect];
  if (names.length === 0) throw new UsageError("name the tables to guard with --table");
  if (remove) return print({ tables: names, remove, mode, schema });
  const given = (["column", "name", "expression"] as const).filter((rule) => args[rule] !== undefined);
  const [rule] = given;
  if (rule === undefined || given.length > 1) {
    throw new UsageError("name the lock of each row with one of --column, --name and --expression");
  }
  const tables = names.map((each) => ({ ...each, [rule]: args[rule] }));
  if (dialect === "mysql" && schema === undefined && names.some((each) => each.schema !== undefined)) {
    throw new UsageError("name the database of the table of tokens with --schema, as --table names one");
  }
  return print({ tables, remove, mode, schema });
}

/** What a migration does to which tables, which have the lock of each row unless the guard is removed. */
interface Migration extends Pick<GuardArguments, "remove" | "mode" | "schema"> {
  readonly tables: readonly NamedTable[];
}

/** Returns the migration in each dialect, as a script for the client of the database. */
const printers = {
  async postgres({ tables, remove, mode, schema }: Migration): Promise<string> {
    const { createGuard, removeGuard } = await loadDriver("guarded tables", ["@holdfast/postgres"], () => {
      return import("@holdfast/postgres");
    });
    return withUsageErrors(() => `${remove ? removeGuard({ tables }) : createGuard({ tables, mode, schema })};`);
  },
  async mysql({ tables, remove, mode, schema }: Migration): Promise<string> {
    const { createGuard, removeGuard } = await loadDriver("guarded tables", ["@holdfast/mysql"], () => {
      return import("@holdfast/mysql");
    });
    const named = tables.map(({ schema: database, ...table }) => ({ ...table, database }));
    return withUsageErrors(() =>
      delimited(remove ? removeGuard({ tables: named }) : createGuard({ tables: named, mode, database: schema })),
    );
  },
};

/** Returns a script for the client of MySQL or MariaDB, which takes a semicolon in a trigger for the end of the statement. */
function delimited(statements: readonly string[]): string {
  let delimiter = "$$";
  while (statements.some((statement) => statement.includes(delimiter))) delimiter += "$";
  const lines = statements.map((statement) => `${statement}\n${delimiter}`);
  return ["SET NAMES utf8mb4;", `DELIMITER ${delimiter}`, ...lines, "DELIMITER ;"].join("\n");
}

/** Lists the guarded tables, and returns whether they refuse, as an exit code. */
async function check(args: GuardArguments & ServerArguments, wanted: readonly NamedTable[]): Promise<number> {
  const options = await readServerOptions(args, process.env);
  const servers = await withUsageErrors(() => openServers(options));
  const failed = "could not list the guarded tables";
  try {
    const [server, ...others] = servers.filter(({ guards }) => guards !== undefined);
    if (server?.guards === undefined || others.length > 0) {
      throw new UsageError("name one database with --node postgres://… or mysql://…");
    }
    if (!(await server.firstConnection)) {
      throw new Failure(failed + connectionProblems([server]), exitCodes.noQuorum);
    }
    const { defaultSchema, tables } = await server.guards().catch((error: Error) => {
      throw new Failure(`${failed}\n  ${server.name}: ${reasonOf(error)}`, exitCodes.misconfigured);
    });
    const factsOf = ({ schema = defaultSchema, table }: NamedTable): GuardFacts => {
      const found = tables.find((each) => each.schema === schema && each.table === table);
      return found ?? { schema, table, mode: "none", lock: null };
    };
    const listed = wanted.length === 0 ? tables : wanted.map(factsOf);
    print(args.json ? JSON.stringify({ tables: listed }) : textOf(listed));
    return listed.length > 0 && listed.every(({ mode }) => mode === "refuse") ? exitCodes.ok : exitCodes.no;
  } finally {
    await closeServers(servers);
  }
}

function textOf(tables: readonly GuardFacts[]): string {
  if (tables.length === 0) return "no table is guarded";
  const rows = tables.map((each) => [`${each.schema}.${each.table}`, each.mode, each.lock ?? ""].map(printable));
  return table(["table", "mode", "lock of a row"], rows);
}
