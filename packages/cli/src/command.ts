/** How commands are described: once, for the parser, the help, the manual page and completion. */
import { UsageError } from "./exit-codes.ts";
import { type Described, type GivenValues, type OptionsOf, readValues } from "./options/option.ts";
import {
  readServerOptions,
  type ServerArguments,
  type ServerOptions,
  serverOptions,
} from "./options/server-options.ts";

/** What a command line has, by the names of options and positional arguments. */
export type Given = Readonly<Record<string, GivenValues>>;

/** What the help says about a command. */
interface Documented {
  /** The name, and the positional arguments such as `<required>`, `[optional]` and `<repeated..>`. */
  readonly line: string;
  readonly describe: string;
  /** The rest of the command line. */
  readonly rest?: string;
  /** What the command does. */
  readonly text: string;
  readonly examples?: readonly string[];
  /** The variables of the environment. */
  readonly environment?: string;
}

/** A command of the program. */
export interface Command extends Documented {
  /** The positional arguments. */
  readonly words: Readonly<Record<string, Described>>;
  readonly options: Readonly<Record<string, Described>>;
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
interface Definition<Words, Values> extends Documented {
  readonly words?: OptionsOf<Words>;
  readonly options: OptionsOf<Values>;
}

/** Defines a command. */
export function command<Words, Values>(
  { words = {} as OptionsOf<Words>, options, ...documented }: Definition<Words, Values>,
  run: (values: Words & Values, commandLine: readonly string[]) => Promise<number>,
): Command {
  return {
    ...documented,
    words,
    options,
    run: (given, commandLine) => run({ ...readValues(words, given), ...readValues(options, given) }, commandLine),
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
