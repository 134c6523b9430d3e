/** The common part of `run` and `lead`, which run a command while they hold a lock or a term. */
import type { Argv, Options } from "yargs";
import { UsageError } from "../exit-codes.ts";
import { parseDuration } from "../options/duration.ts";
import { only, readServerOptions, type ServerArguments, withServerOptions } from "../options/server-options.ts";
import { printMessage } from "../output/print.ts";
import { defaultLabel } from "../run/label.ts";
import { type Audience, narrator } from "../run/narrator.ts";
import type { SupervisedCommand } from "../run/supervise.ts";
import { type LockService, withLockService } from "../servers/lock-service.ts";
import { type Signals, withSignals } from "../signals.ts";

/** The arguments of both commands. */
export interface SupervisedArguments extends ServerArguments {
  readonly maxHold: string | undefined;
  readonly killAfter: string | undefined;
  readonly label: string | undefined;
  readonly processGroup: boolean | undefined;
  readonly verbose: boolean | undefined;
  readonly "--"?: readonly string[];
}

const defaultKillAfter = "10s";

/** An option of the lock with a value, and one without. */
export const text = { type: "string", requiresArg: true, group: "Lock:" } as const;
export const flag = { type: "boolean", group: "Lock:" } as const;

/** The options of both commands. A term is a lock, too. */
export const supervisedOptions: Readonly<Record<string, Options>> = {
  "max-hold": { ...text, describe: "Longest time to hold the lock (default: no limit)" },
  "kill-after": { ...text, describe: `Time from SIGTERM to SIGKILL after a loss (default: ${defaultKillAfter})` },
  label: { ...text, describe: "Label that shows people the holder (default: user@host[pid])" },
  "process-group": { ...flag, describe: "Signal the command's whole process group" },
  verbose: { ...flag, describe: "Report progress on standard error" },
};

const environmentHelp = `Environment:
  HOLDFAST_NODES     the servers, separated by spaces, unless options name them
  HOLDFAST_FENCE     set for the command: the fencing token of the lock
  HOLDFAST_RESOURCE  set for the command: the locked resource
  HOLDFAST_OWNER     set for the command: the owner of the lock
`;

/** Adds the options to a command, and those of the servers. */
export function withSupervisedOptions<Others>(
  yargs: Argv<Others>,
  options: Readonly<Record<string, Options>> = supervisedOptions,
): Argv<Others> {
  return withServerOptions(yargs.options(options).epilogue(environmentHelp)) as unknown as Argv<Others>;
}

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
  const observer = narrator(printMessage, { isVerbose: args.verbose === true, ...audience });
  return withSignals((signals) => {
    const { interrupted } = signals;
    return withLockService(servers, { observer, interrupted }, (service) => use(service, signals));
  });
}
