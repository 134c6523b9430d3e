import { createRequire } from "node:module";
import type { Arguments, Argv } from "yargs";
import { type Command, describeTo, type Given } from "./command.ts";
import { checkCommand } from "./commands/check.ts";
import { createTableCommand } from "./commands/create-table.ts";
import { doctorCommand } from "./commands/doctor.ts";
import { guardCommand } from "./commands/guard.ts";
import { healCommand } from "./commands/heal.ts";
import { inspectCommand } from "./commands/inspect.ts";
import { leadCommand } from "./commands/lead.ts";
import { listCommand } from "./commands/list.ts";
import { migrateCommand } from "./commands/migrate.ts";
import { releaseCommand } from "./commands/release.ts";
import { readPlainRun, runCommand } from "./commands/run.ts";
import { verifyCommand } from "./commands/verify.ts";
import { exitCodesHelp, UsageError } from "./exit-codes.ts";
import { print } from "./output/print.ts";

/** The commands, in the order of the help. */
export const commands: readonly Command[] = [
  runCommand,
  leadCommand,
  inspectCommand,
  verifyCommand,
  listCommand,
  releaseCommand,
  doctorCommand,
  checkCommand,
  healCommand,
  migrateCommand,
  createTableCommand,
  guardCommand,
];

/** How yargs splits the command line into words. */
const parserConfiguration = {
  "boolean-negation": false,
  "dot-notation": false,
  "greedy-arrays": false,
  "parse-numbers": false,
  "parse-positional-numbers": false,
  "populate--": true,
  "short-option-groups": false,
} as const;

const { version }: { version: string } = createRequire(import.meta.url)("../package.json");

type MakeArgv = (args: string[]) => Argv;

/**
 * Runs the command line, and sets `process.exitCode`.
 *
 * @throws {Failure} with the message for the user
 */
export async function runCommandLine(args: readonly string[]): Promise<void> {
  // Loading yargs would take most of the time of these two.
  if (args.length === 1 && args[0] === "--version") return print(version);
  const plain = readPlainRun(args);
  const run = plain === undefined ? await parse(args) : () => runCommand.run(plain);
  if (run !== undefined) process.exitCode = await run();
}

/** Ends the parser when it is about to run a command: yargs would also render the help, which takes it 50 ms. */
class Parsed extends Error {
  readonly run: () => Promise<number>;

  /** @param run runs the command */
  constructor(run: () => Promise<number>) {
    super("the command line is parsed");
    this.run = run;
  }
}

/** Returns what runs the command that these words name; undefined if the parser has printed instead, such as the help. */
async function parse(args: readonly string[]): Promise<(() => Promise<number>) | undefined> {
  const { default: yargs } = await import("yargs");
  const words = args.includes("--") ? args.slice(0, args.indexOf("--")) : args;
  if (words.includes("-")) throw new UsageError('"-" is not a resource; see holdfast --help');
  try {
    const use = (command: Command, given: Given): never => {
      throw new Parsed(() => command.run(given));
    };
    await makeParser(yargs, args, use).parseAsync();
  } catch (error) {
    if (error instanceof Parsed) return error.run;
    throw error;
  }
  // The parser treats a last word "help" as --help: it prints the help and runs nothing.
  if (words.includes("help") && words[0] !== "help" && !words.includes("--help")) {
    throw new UsageError('"help" prints the help: a resource cannot have this name');
  }
  return undefined;
}

/** Returns a parser that calls `use` with the command which these words name, and what they give it. */
export function makeParser(
  yargs: MakeArgv,
  args: readonly string[],
  use: (command: Command, given: Given) => void,
): Argv {
  return yargs([...args])
    .scriptName("holdfast")
    .usage("$0 <command>\n\nDistributed locks over Redis, PostgreSQL, etcd or SQLite, on the command line.")
    .example("$0 run backup --node redis://a --node redis://b --node redis://c -- ./backup.sh", "")
    .command(
      commands.map((command) => ({
        command: command.line,
        describe: command.describe,
        builder: (yargs: Argv) => describeTo(yargs, command),
        handler: (given: Arguments) => use(command, given),
      })),
    )
    .completion(
      "completion",
      "Print a script that completes commands and options, for bash and zsh; there is none for fish",
    )
    .parserConfiguration(parserConfiguration)
    .demandCommand(1, 1, "Name a command", "Name one command")
    .strict()
    .recommendCommands()
    .version(version)
    .help()
    .epilogue(exitCodesHelp)
    .wrap(Math.min(100, process.stdout.columns || 100))
    .detectLocale(false)
    .showHelpOnFail(false)
    .exitProcess(false)
    .fail((message, error) => {
      // An error that a command's handler throws arrives without a message.
      if (!message) throw error;
      const problem = message.replaceAll(/\s+/g, " ");
      throw new UsageError(`${problem}${problem.endsWith("?") ? " See" : "; see"} holdfast --help`);
    });
}
