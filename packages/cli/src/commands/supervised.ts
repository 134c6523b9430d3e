/** The common part of `run` and `lead`, which run a command while they hold a lock or a term. */
import { UsageError } from "../exit-codes.ts";
import { parseDuration } from "../options/duration.ts";
import { only, readServerOptions, type ServerArguments } from "../options/server-options.ts";
import { printMessage } from "../output/print.ts";
import { defaultLabel } from "../run/label.ts";
import { type Audience, narrator } from "../run/narrator.ts";
import type { SupervisedCommand } from "../run/supervise.ts";
import { type LockService, withLockService } from "../servers/lock-service.ts";
import { listenToSignals, type Signals } from "../signals.ts";

/** The arguments of both commands. */
export interface SupervisedArguments extends ServerArguments {
  readonly maxHold: string | undefined;
  readonly killAfter: string | undefined;
  readonly label: string | undefined;
  readonly processGroup: boolean | undefined;
  readonly verbose: boolean | undefined;
  readonly "--"?: readonly string[];
}

/** The default of `--kill-after`. */
export const defaultKillAfter = "10s";

/**
 * Reads the arguments of both commands.
 *
 * @param example a command line that names a command
 * @throws {UsageError} naming what is wrong
 */
export function readSupervised(args: SupervisedArguments, example: string): SupervisedCommand {
  const [command, ...commandArguments] = args["--"] ?? [];
  if (command === undefined) throw new UsageError(`no command to run: write it after --, as in ${example}`);
  const maxHold = only("--max-hold", args.maxHold);
  return {
    command,
    commandArguments,
    maxHoldMs: maxHold === undefined ? Infinity : parseDuration("--max-hold", maxHold),
    killAfterMs: parseDuration("--kill-after", only("--kill-after", args.killAfter) ?? defaultKillAfter),
    label: only("--label", args.label) ?? defaultLabel(),
    inGroup: args.processGroup === true,
  };
}

/** Connects, handles signals, and reports what happens to the lock while `use` runs. */
export async function supervised(
  args: SupervisedArguments,
  audience: Omit<Audience, "isVerbose">,
  use: (service: LockService, signals: Signals) => Promise<number>,
): Promise<number> {
  const servers = await readServerOptions(args, process.env);
  const signals = listenToSignals();
  try {
    const observer = narrator(printMessage, { isVerbose: args.verbose === true, ...audience });
    const { interrupted } = signals;
    return await withLockService(servers, { observer, interrupted }, (service) => use(service, signals));
  } finally {
    signals.stopListening();
  }
}
