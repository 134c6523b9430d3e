import type { Argv, CommandModule } from "yargs";
import { runAsLeader } from "../run/run-as-leader.ts";
import { readSupervised, type SupervisedArguments, supervised, withSupervisedOptions } from "./supervised.ts";

interface LeadArguments extends SupervisedArguments {
  readonly name: string;
}

/** `holdfast lead`: keeps a command running only while this process leads. */
export const leadCommand: CommandModule<object, LeadArguments> = {
  command: "lead <name>",
  describe: "Run a command only while leading: lead scheduler -- ./scheduler",
  builder: (yargs) =>
    withSupervisedOptions(
      yargs
        .usage("$0 lead <name> [options] -- <command> [arguments]\n\nKeeps a command running only while it leads.")
        .positional("name", { type: "string", describe: "The name of the election" }),
    ) as unknown as Argv<LeadArguments>,
  handler: async (args) => {
    process.exitCode = await lead(args);
  },
};

async function lead(args: LeadArguments): Promise<number> {
  const options = { ...readSupervised(args, "lead scheduler -- ./scheduler"), name: args.name };
  const isAtTerminal = process.stderr.isTTY === true;
  return supervised(args, { isAtTerminal }, (service, signals) => runAsLeader(options, service, signals));
}
