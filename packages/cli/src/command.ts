/** How commands are described: once, for the parser, the help, the manual page and completion. */
import { exitCodesHelp, UsageError } from "./exit-codes.ts";
import { type Described, type GivenValues, type OptionsOf, readValues } from "./options/option.ts";
import {
  readServerOptions,
  type ServerArguments,
  type ServerOptions,
  serverOptions,
} from "./options/server-options.ts";

/** What a command line has, by the names of options and positional arguments. */
export type Given = Readonly<Record<string, GivenValues>>;

/** A command of the program. */
export interface Command {
  /** The name, and the positional arguments such as `<required>`, `[optional]` and `<repeated..>`. */
  readonly line: string;
  readonly describe: string;
  /** The whole command line, an empty line, and what the command does. */
  readonly usage: string;
  readonly positionals: Readonly<Record<string, Described>>;
  readonly options: Readonly<Record<string, Described>>;
  readonly examples: readonly string[];
  /** The last part of the help. */
  readonly epilogue: string;
  /**
   * Runs the command.
   *
   * @param commandLine the words after `--`
   * @returns the exit code
   * @throws {Failure} with the message for the user
   */
  run(given: Given, commandLine: readonly string[]): Promise<number>;
}

/** The definition of a command. */
interface Definition<Words, Values> {
  readonly line: string;
  readonly describe: string;
  /** The rest of the command line in the help. */
  readonly rest?: string;
  /** What the command does. */
  readonly text: string;
  readonly words?: OptionsOf<Words>;
  readonly options: OptionsOf<Values>;
  readonly examples?: readonly string[];
  /** The help about variables of the environment. */
  readonly environment?: string;
}

/** Defines a command. */
export function command<Words, Values>(
  definition: Definition<Words, Values>,
  run: (values: Words & Values, commandLine: readonly string[]) => Promise<number>,
): Command {
  const { line, describe, rest = "[options]", text, examples = [], environment, options } = definition;
  const positionals = definition.words ?? ({} as OptionsOf<Words>);
  return {
    line,
    describe,
    usage: `$0 ${line} ${rest}\n\n${text}`,
    positionals,
    options,
    examples,
    epilogue: environment === undefined ? exitCodesHelp : `${environment}\n${exitCodesHelp}`,
    run: (given, commandLine) => run({ ...readValues(positionals, given), ...readValues(options, given) }, commandLine),
  };
}

/** What a command does with its values and the servers. */
type UseServers<Values> = (values: Values, servers: ServerOptions) => Promise<number>;

/**
 * Defines a command that uses servers, and has their options, too.
 *
 * @param memory what it cannot do without servers; undefined if `--memory` is enough
 */
export function serverCommand<Words, Values>(
  definition: Definition<Words, Values> & { readonly memory?: string },
  run: UseServers<Words & Values>,
): Command {
  const options = { ...definition.options, ...serverOptions } as OptionsOf<Values & ServerArguments>;
  return command<Words, Values & ServerArguments>({ ...definition, options }, async (values) => {
    const servers = await readServerOptions(values, process.env);
    if (servers.memory && definition.memory) throw new UsageError(`--memory has no servers to ${definition.memory}`);
    return run(values, servers);
  });
}

/** Returns the name of a command. */
export function nameOf({ line }: Command): string {
  return line.split(" ")[0] as string;
}
