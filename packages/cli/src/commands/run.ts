import { type Command, command } from "../command.ts";
import { exitCodes, UsageError } from "../exit-codes.ts";
import { flag, integerFrom, list, parseDuration, parsed, text, withDefault } from "../options/option.ts";
import { type RunOptions, runUnderLock } from "../run/run-under-lock.ts";
import { environment, ofLock, readSupervised, supervised, supervisedOptions } from "./supervised.ts";

const runOptions = {
  wait: withDefault("10s", parseWait, "How long to wait for the lock, or forever", ofLock),
  "no-wait": flag("Try once, without waiting", { ...ofLock, conflicts: ["wait"] }),
  // flock(1) has the same option, with the same range.
  "conflict-exit-code": withDefault(
    `${exitCodes.held}`,
    integerFrom(0, 255),
    "Exit code when another owner holds the lock",
    {
      ...ofLock,
      alias: "E",
    },
  ),
  shared: flag("Share the lock with others that share it, as readers do", { ...ofLock, conflicts: ["permits"] }),
  permits: parsed(parsePermits, "Hold n of the k permits of a semaphore instead of a lock, as in 1/5", ofLock),
  ticket: text("Adopt the lock that another process has transferred, instead of acquiring one", {
    ...ofLock,
    conflicts: ["wait", "no-wait", "shared", "permits"],
  }),
  ...supervisedOptions,
};

/** `holdfast run`: runs a command while it holds a lock. */
export const runCommand: Command = command(
  {
    line: "run [resource..]",
    rest: "[options] -- <command> [arguments]",
    describe: "Run a command while holding a lock: run backup -- ./backup.sh",
    text: "Runs a command while holding a lock.",
    words: { resource: list("The resources; several are locked together") },
    options: runOptions,
    examples: [
      "$0 run backup --wait 2m -- ./backup.sh",
      "$0 run report --no-wait -E 0 -- sh -c './report \"$HOLDFAST_FENCE\"'",
    ],
    environment,
  },
  async ({ resource: resources, ticket, permits, ...args }, commandLine) => {
    if (ticket !== undefined && resources.length > 0)
      throw new UsageError("--ticket names the resources: leave them out");
    if (ticket === undefined && resources.length === 0) {
      throw new UsageError("no resource to lock: name it, as in run backup -- ./backup.sh, or pass --ticket");
    }
    if (permits !== undefined && resources.length !== 1) {
      throw new UsageError(`--permits takes one semaphore, not ${resources.length}`);
    }
    const options: RunOptions = {
      ...readSupervised(args, commandLine, "run backup -- ./backup.sh"),
      resources,
      ticket,
      mode: args.shared ? "shared" : "exclusive",
      permits,
      waitMs: args["no-wait"] ? 0 : args.wait,
      conflictExitCode: args["conflict-exit-code"],
    };
    const isAtTerminal = process.stderr.isTTY === true && options.waitMs > 0;
    const audience = { isAtTerminal, semaphore: permits && resources[0] };
    return supervised(args, audience, (service, signals) => runUnderLock(options, service, signals));
  },
);

function parseWait(name: string, given: string): number {
  return given === "forever" ? Infinity : parseDuration(name, given);
}

function parsePermits(name: string, given: string): RunOptions["permits"] {
  const [, count, total] = /^(\d{1,5})\/(\d{1,5})$/.exec(given)?.map(Number) ?? [];
  if (count !== undefined && total !== undefined && count >= 1 && count <= total && total <= 10_000) {
    return { count, total };
  }
  throw new UsageError(`${name} must be n/k, n of at most 10000 permits, as in 1/5, not ${JSON.stringify(given)}`);
}
