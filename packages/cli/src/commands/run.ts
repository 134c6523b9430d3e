import type { Argv, CommandModule, Options } from "yargs";
import { exitCodes, UsageError } from "../exit-codes.ts";
import { parseDuration } from "../options/duration.ts";
import { readPlainArguments } from "../options/plain-arguments.ts";
import { only, serverOptionDefinitions } from "../options/server-options.ts";
import { type RunOptions, runUnderLock } from "../run/run-under-lock.ts";
import {
  flag,
  readSupervised,
  type SupervisedArguments,
  supervised,
  supervisedOptions,
  text,
  withSupervisedOptions,
} from "./supervised.ts";

interface RunArguments extends SupervisedArguments {
  readonly resource: readonly string[] | undefined;
  readonly wait: string | undefined;
  readonly noWait: boolean | undefined;
  readonly conflictExitCode: string | undefined;
  readonly permits: string | undefined;
  readonly shared: boolean | undefined;
  readonly ticket: string | undefined;
}

const defaultWait = "10s";

const lockOptions: Readonly<Record<string, Options>> = {
  wait: { ...text, describe: `How long to wait for the lock, or forever (default: ${defaultWait})` },
  "no-wait": { ...flag, conflicts: "wait", describe: "Try once, without waiting" },
  "conflict-exit-code": {
    ...text,
    alias: "E",
    describe: `Exit code when another owner holds the lock (default: ${exitCodes.held})`,
  },
  shared: { ...flag, conflicts: "permits", describe: "Share the lock with others that share it, as readers do" },
  permits: { ...text, describe: "Hold n of the k permits of a semaphore instead of a lock, as in 1/5" },
  ticket: {
    ...text,
    conflicts: ["wait", "no-wait", "shared", "permits"],
    describe: "Adopt the lock that another process has transferred, instead of acquiring one",
  },
  ...supervisedOptions,
};

/** `holdfast run`: runs a command while it holds a lock. */
export const runCommand: CommandModule<object, RunArguments> = {
  command: "run [resource..]",
  describe: "Run a command while holding a lock: run backup -- ./backup.sh",
  builder: (yargs) =>
    withSupervisedOptions(
      yargs
        .usage("$0 run [resource..] [options] -- <command> [arguments]\n\nRuns a command while holding a lock.")
        .positional("resource", { type: "string", describe: "The resources; several are locked together" })
        .example("$0 run backup --wait 2m -- ./backup.sh", "")
        .example("$0 run report --no-wait -E 0 -- sh -c './report \"$HOLDFAST_FENCE\"'", ""),
      lockOptions,
    ) as unknown as Argv<RunArguments>,
  handler: async (args) => {
    process.exitCode = await run(args);
  },
};

/**
 * Runs a plain command line without yargs, which takes longer to load than everything else: `run` is also used before
 * short commands.
 *
 * @returns whether the command line was plain
 */
export async function runPlainly(words: readonly string[]): Promise<boolean> {
  const args = readPlainRun(words);
  if (args === undefined) return false;
  process.exitCode = await run(args);
  return true;
}

/** Returns the arguments as yargs would parse them, or undefined if only yargs can. */
export function readPlainRun([name, ...words]: readonly string[]): RunArguments | undefined {
  const end = words.indexOf("--");
  if (name !== "run" || end < 0 || end === words.length - 1) return undefined;
  const plain = readPlainArguments(words.slice(0, end), { ...lockOptions, ...serverOptionDefinitions });
  if (plain === undefined || plain.positionals.includes("help")) return undefined;
  if (plain.positionals.length === 0 && plain.values.ticket === undefined) return undefined;
  return { ...plain.values, resource: plain.positionals, "--": words.slice(end + 1) } as unknown as RunArguments;
}

async function run(args: RunArguments): Promise<number> {
  const options = readRunOptions(args);
  const isAtTerminal = process.stderr.isTTY === true && options.waitMs > 0;
  const semaphore = options.permits && options.resources[0];
  return supervised(args, { isAtTerminal, semaphore }, (service, signals) => runUnderLock(options, service, signals));
}

function readRunOptions(args: RunArguments): RunOptions {
  const resources = args.resource ?? [];
  const ticket = only("--ticket", args.ticket);
  if (ticket !== undefined && resources.length > 0)
    throw new UsageError("--ticket names the resources: leave them out");
  if (ticket === undefined && resources.length === 0) {
    throw new UsageError("no resource to lock: name it, as in run backup -- ./backup.sh, or pass --ticket");
  }
  return {
    ...readSupervised(args, "run backup -- ./backup.sh"),
    resources,
    ticket,
    mode: args.shared === true ? "shared" : "exclusive",
    permits: readPermits(only("--permits", args.permits), resources),
    waitMs: readWait(args),
    conflictExitCode: readConflictExitCode(args),
  };
}

function readWait(args: RunArguments): number {
  const wait = only("--wait", args.wait) ?? defaultWait;
  if (args.noWait === true) return 0;
  return wait === "forever" ? Infinity : parseDuration("--wait", wait);
}

function readPermits(given: string | undefined, resources: readonly string[]): RunOptions["permits"] {
  if (given === undefined) return undefined;
  const [, count, total] = /^(\d{1,5})\/(\d{1,5})$/.exec(given)?.map(Number) ?? [];
  if (count === undefined || total === undefined || count < 1 || count > total || total > 10_000) {
    throw new UsageError(`--permits must be n/k, n of at most 10000 permits, as in 1/5, not ${JSON.stringify(given)}`);
  }
  if (resources.length !== 1) throw new UsageError(`--permits takes one semaphore, not ${resources.length}`);
  return { count, total };
}

/** flock(1) has the same option, with the same range. */
function readConflictExitCode(args: RunArguments): number {
  const given = only("--conflict-exit-code", args.conflictExitCode);
  if (given === undefined) return exitCodes.held;
  const code = /^\d+$/.test(given) ? Number(given) : undefined;
  if (code !== undefined && code <= 255) return code;
  throw new UsageError(`--conflict-exit-code must be a number from 0 to 255, not ${JSON.stringify(given)}`);
}
