/** The common part of `run` and `lead`, which run a command while they hold a lock or a term. */

import { hostname, userInfo } from "node:os";
import { UsageError } from "../exit-codes.ts";
import { duration, flag, type OptionsOf, parseDuration, parsed, text } from "../options/option.ts";
import { readServerOptions, type ServerArguments, serverOptions } from "../options/server-options.ts";
import { printMessage } from "../output/print.ts";
import { type Audience, narrator } from "../run/narrator.ts";
import type { SupervisedCommand } from "../run/supervise.ts";
import { type LockService, withLockService } from "../servers/lock-service.ts";
import { type Signals, withSignals } from "../signals.ts";

/** The arguments of both commands. */
export interface SupervisedArguments extends ServerArguments {
  readonly "max-hold": number | undefined;
  readonly "kill-after": number;
  readonly label: string | undefined;
  readonly "process-group": boolean;
  readonly verbose: boolean;
}

/** The options of the lock, in the help. */
export const ofLock = { group: "Lock:" } as const;

/** The options of both commands. A term is a lock, too. */
export const supervisedOptions: OptionsOf<SupervisedArguments> = {
  "max-hold": parsed(parseDuration, "Longest time to hold the lock (default: no limit)", ofLock),
  "kill-after": duration("10s", "Time from SIGTERM to SIGKILL after a loss", ofLock),
  label: text("Label that shows people the holder (default: user@host[pid])", ofLock),
  "process-group": flag("Signal the command's whole process group", ofLock),
  verbose: flag("Report progress on standard error", ofLock),
  ...serverOptions,
};

/** The help of both commands about variables of the environment. */
export const environment = `Environment:
  HOLDFAST_NODES     the servers, separated by spaces, unless options name them
  HOLDFAST_FENCE     set for the command: the fencing token of the lock
  HOLDFAST_RESOURCE  set for the command: the locked resource
  HOLDFAST_OWNER     set for the command: the owner of the lock
`;

/**
 * Reads the arguments of both commands.
 *
 * @param example a command line that names a command
 * @throws {UsageError} naming what is wrong
 */
export function readSupervised(
  args: SupervisedArguments,
  [command, ...commandArguments]: readonly string[],
  example: string,
): SupervisedCommand {
  if (command === undefined) throw new UsageError(`no command to run: write it after --, as in ${example}`);
  return {
    command,
    commandArguments,
    maxHoldMs: args["max-hold"] ?? Infinity,
    killAfterMs: args["kill-after"],
    label: args.label ?? defaultLabel(),
    inGroup: args["process-group"],
  };
}

/** Connects, handles signals, and reports what happens to the lock while `use` runs. */
export async function supervised(
  args: SupervisedArguments,
  audience: Omit<Audience, "isVerbose">,
  use: (service: LockService, signals: Signals) => Promise<number>,
): Promise<number> {
  const servers = await readServerOptions(args, process.env);
  const observer = narrator(printMessage, { isVerbose: args.verbose, ...audience });
  return withSignals((signals) => {
    const { interrupted } = signals;
    return withLockService(servers, { observer, interrupted }, (service) => use(service, signals));
  });
}

/** The longest label that core allows. */
const lengthMax = 100;

/** Returns a label that shows people who holds a lock: `root@web-1[4711]` names the host and the process. */
function defaultLabel(): string {
  const process_ = `[${process.pid}]`;
  const who = `${userName()}@${hostname()}`.replaceAll(/\p{C}/gu, "");
  return who.slice(0, lengthMax - process_.length) + process_;
}

/** Returns the name of the user, or the number: in a container, users often have no name. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return String(process.getuid?.() ?? "user");
  }
}
