import type { Argv, CommandModule, Options } from "yargs";
import { exitCodesHelp, UsageError } from "../exit-codes.ts";
import { parseDuration } from "../options/duration.ts";
import { only, readServerOptions, type ServerArguments, withServerOptions } from "../options/server-options.ts";
import { printMessage } from "../output/print.ts";
import { defaultLabel } from "../run/label.ts";
import { narrator } from "../run/narrator.ts";
import { type LeadOptions, runAsLeader } from "../run/run-as-leader.ts";
import { withLockService } from "../servers/lock-service.ts";
import { listenToSignals } from "../signals.ts";

interface LeadArguments extends ServerArguments {
  readonly name: string;
  readonly maxHold: string | undefined;
  readonly killAfter: string | undefined;
  readonly label: string | undefined;
  readonly processGroup: boolean | undefined;
  readonly verbose: boolean | undefined;
  readonly "--"?: readonly string[];
}

const defaultKillAfter = "10s";

const group = "Term:";
const text = { type: "string", requiresArg: true, group } as const;
const flag = { type: "boolean", group } as const;
const termOptions: Readonly<Record<string, Options>> = {
  "max-hold": { ...text, describe: "Longest term (default: no limit)" },
  "kill-after": { ...text, describe: `Time from SIGTERM to SIGKILL after a term (default: ${defaultKillAfter})` },
  label: { ...text, describe: "Label that shows people the leader (default: user@host[pid])" },
  "process-group": { ...flag, describe: "Signal the command's whole process group" },
  verbose: { ...flag, describe: "Report progress on standard error" },
};

/** `holdfast lead`: keeps a command running only while this process leads. */
export const leadCommand: CommandModule<object, LeadArguments> = {
  command: "lead <name>",
  describe: "Run a command only while leading: lead scheduler -- ./scheduler",
  builder: (yargs) =>
    withServerOptions(
      yargs
        .usage("$0 lead <name> [options] -- <command> [arguments]\n\nKeeps a command running only while it leads.")
        .positional("name", { type: "string", describe: "The name of the election" })
        .options(termOptions),
    ).epilogue(exitCodesHelp) as unknown as Argv<LeadArguments>,
  handler: async (args) => {
    process.exitCode = await lead(args);
  },
};

async function lead(args: LeadArguments): Promise<number> {
  const options = readLeadOptions(args);
  const servers = await readServerOptions(args, process.env);
  const signals = listenToSignals();
  try {
    const observer = narrator(printMessage, {
      isVerbose: args.verbose === true,
      isAtTerminal: process.stderr.isTTY === true,
    });
    const { interrupted } = signals;
    return await withLockService(servers, { observer, interrupted }, (service) =>
      runAsLeader(options, service, signals),
    );
  } finally {
    signals.stopListening();
  }
}

function readLeadOptions(args: LeadArguments): LeadOptions {
  const [command, ...commandArguments] = args["--"] ?? [];
  if (command === undefined) {
    throw new UsageError("no command to run: write it after --, as in lead scheduler -- ./scheduler");
  }
  const maxHold = only("--max-hold", args.maxHold);
  return {
    name: args.name,
    command,
    commandArguments,
    maxHoldMs: maxHold === undefined ? Infinity : parseDuration("--max-hold", maxHold),
    killAfterMs: parseDuration("--kill-after", only("--kill-after", args.killAfter) ?? defaultKillAfter),
    label: only("--label", args.label) ?? defaultLabel(),
    inGroup: args.processGroup === true,
  };
}
