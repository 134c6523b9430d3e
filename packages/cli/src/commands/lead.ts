import { type Command, command } from "../command.ts";
import { withUsageErrors } from "../failures.ts";
import { word } from "../options/option.ts";
import { printMessage } from "../output/print.ts";
import { assertQuorumPossible } from "../run/run-under-lock.ts";
import { type SupervisedCommand, supervise } from "../run/supervise.ts";
import type { LockService } from "../servers/lock-service.ts";
import type { Signals } from "../signals.ts";
import { environment, readSupervised, supervised, supervisedOptions } from "./supervised.ts";

/** `holdfast lead`: keeps a command running only while this process leads. */
export const leadCommand: Command = command(
  {
    line: "lead <name>",
    rest: "[options] -- <command> [arguments]",
    describe: "Run a command only while leading: lead scheduler -- ./scheduler",
    text: "Keeps a command running only while it leads.",
    words: { name: word("The name of the election") },
    options: supervisedOptions,
    environment,
  },
  async (args, commandLine) => {
    const options = readSupervised(args, commandLine, "lead scheduler -- ./scheduler");
    const isAtTerminal = process.stderr.isTTY === true;
    return supervised(args, { isAtTerminal }, (service, signals) => runAsLeader(args.name, options, service, signals));
  },
);

/**
 * Stands for election, and runs the command while this process leads. If the term ends first, ends the command and stands
 * for election again.
 *
 * @returns the exit code of a command that ended without having lost its term, or after a terminating signal; or that of
 *   a signal which arrived while another process led
 * @throws {Failure} if the command could not be started, or too many addresses are wrong
 */
async function runAsLeader(
  name: string,
  options: SupervisedCommand,
  service: LockService,
  signals: Signals,
): Promise<number> {
  const { label, maxHoldMs } = options;
  assertQuorumPossible(service, [name]);
  const { election } = await import("@holdfast/core/election");
  const terms = await withUsageErrors(() =>
    election(service.redlock, name, { label, maxHoldMs }).campaign({ signal: signals.interrupted }),
  );
  try {
    for (;;) {
      const { value: term, done } = await withUsageErrors(() => terms.next());
      if (done) return signals.exitCode;
      const { fence, owner, signal } = term;
      if (signal.aborted) continue; // this process was suspended at that moment
      const variables = { HOLDFAST_RESOURCE: name, HOLDFAST_FENCE: String(fence), HOLDFAST_OWNER: owner };
      const hold = { what: "the lock", variables, signal, remainingMs: () => term.remainingMs() };
      const { exitCode, wasLost, wasTerminated } = await supervise(options, hold, signals);
      signals.keep();
      if (wasLost && !wasTerminated) continue;
      await term.resign().catch((error: Error) => printMessage(`${error.message}; it ends with its ttl`));
      return exitCode;
    }
  } finally {
    await terms.return?.();
  }
}
