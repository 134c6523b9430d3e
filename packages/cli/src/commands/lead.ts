import { type Command, command } from "../command.ts";
import { word } from "../options/option.ts";
import { runAsLeader } from "../run/run-as-leader.ts";
import { environment, readSupervised, type SupervisedArguments, supervised, supervisedOptions } from "./supervised.ts";

/** `holdfast lead`: keeps a command running only while this process leads. */
export const leadCommand: Command = command<{ readonly name: string }, SupervisedArguments>(
  {
    line: "lead <name>",
    rest: "[options] -- <command> [arguments]",
    describe: "Run a command only while leading: lead scheduler -- ./scheduler",
    text: "Keeps a command running only while it leads.",
    words: { name: word("The name of the election") },
    options: supervisedOptions,
    environment,
  },
  async (args, given) => {
    const options = { ...readSupervised(args, given, "lead scheduler -- ./scheduler"), name: args.name };
    const isAtTerminal = process.stderr.isTTY === true;
    return supervised(args, { isAtTerminal }, (service, signals) => runAsLeader(options, service, signals));
  },
);
