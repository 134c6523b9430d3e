import { createRequire } from "node:module";
import { closestMatch } from "leven";
import { type Command, nameOf } from "./command.ts";
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
import { runCommand } from "./commands/run.ts";
import { verifyCommand } from "./commands/verify.ts";
import { UsageError } from "./exit-codes.ts";
import { completionScript, generalHelp, helpOf } from "./help.ts";
import { parseWords } from "./options/parse.ts";
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

const { version }: { version: string } = createRequire(import.meta.url)("../package.json");

/**
 * Runs the command line, and sets `process.exitCode`.
 *
 * @throws {Failure} with the message for the user
 */
export async function runCommandLine([name, ...words]: readonly string[]): Promise<void> {
  if (name === undefined) throw new UsageError("Name a command; see holdfast --help");
  if (name === "--version") return print(version);
  if (name === "--help" || name === "help") return print(generalHelp(commands));
  if (name === "completion") return print(completionScript(commands));
  const command = commandNamed(name);
  const end = words.indexOf("--");
  const own = end < 0 ? words : words.slice(0, end);
  if (own.includes("--help")) return print(helpOf(command));
  process.exitCode = await command.run(parseWords(command, own), end < 0 ? [] : words.slice(end + 1));
}

/** @throws {UsageError} with the nearest name, if one is near */
function commandNamed(name: string): Command {
  const names = commands.map(nameOf);
  const found = commands[names.indexOf(name)];
  if (found !== undefined) return found;
  if (name.startsWith("-")) throw new UsageError("Name a command before its options; see holdfast --help");
  const near = closestMatch(name, names, { maxDistance: 3 });
  if (near !== undefined) throw new UsageError(`Did you mean ${near}? See holdfast --help`);
  throw new UsageError(`Unknown argument: ${name}; see holdfast --help`);
}
