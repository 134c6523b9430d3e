import type { Argv, CommandModule, Options } from "yargs";
import { exitCodesHelp } from "../exit-codes.ts";
import { withServerOptions } from "../options/server-options.ts";
import { runAsLeader } from "../run/run-as-leader.ts";
import { defaultKillAfter, readSupervised, type SupervisedArguments, supervised } from "./supervised.ts";

interface LeadArguments extends SupervisedArguments {
  readonly name: string;
}

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
  const options = { ...readSupervised(args, "lead scheduler -- ./scheduler"), name: args.name };
  const isAtTerminal = process.stderr.isTTY === true;
  return supervised(args, { isAtTerminal }, (service, signals) => runAsLeader(options, service, signals));
}
