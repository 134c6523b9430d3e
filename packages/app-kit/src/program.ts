/** The outline of a program: options in, output and an exit code out. */
import { parseArgs } from "node:util";
import { type Cleanup, createCleanup } from "@holdfast/testkit/cleanup";
import { runInterruptible } from "@holdfast/testkit/interruptible";

/** What a command line asks for: to run, to print a text, or the impossible. */
export type Command<Options> =
  | { readonly kind: "run"; readonly options: Options }
  | { readonly kind: "print"; readonly text: string }
  | { readonly kind: "bad"; readonly message: string };

/** What a command line gives for the options that a help lists. */
export interface Given {
  /** The names of the options, in their order. */
  readonly names: readonly string[];
  /** The words that belong to no option. */
  readonly words: readonly string[];
  /** Whether an option without a value is given. */
  flag(name: string): boolean;
  /** The last value of an option. */
  text(name: string): string | undefined;
  /** All values of an option that may be repeated. */
  texts(name: string): readonly string[];
  /**
   * The value of an option that is a whole number, or else the default.
   *
   * @throws {RangeError} if the text is none, or out of range
   */
  integer<Default extends number | undefined>(
    name: string,
    byDefault: Default,
    min: number,
    max?: number,
  ): number | Default;
}

/**
 * Reads a command line. Drops the leading `--` that `pnpm NAME -- --option` passes on.
 *
 * @param help lists the options, each in a line such as `  --seconds N  how long`, or `  --quick  a short run`; its usage names
 *   other words in brackets, if there may be any. It is printed for `--help`
 * @param read returns the options, or another text to print; throws for options that it refuses
 */
export function readCommand<Options extends object>(
  help: string,
  args: readonly string[],
  read: (given: Given) => Options | string,
): Command<Options> {
  const lines = [...help.matchAll(/^ {2}--(\S+)(?: (\S+))? {2,}/gm)];
  const options = Object.fromEntries(
    lines.map(([, name = "", value]) =>
      value === undefined ? [name, { type: "boolean" as const }] : [name, { type: "string" as const, multiple: true }],
    ),
  );
  const allowPositionals = /^Usage: .*\[(?!options)/m.test(help);
  try {
    const { values, positionals }: { values: Readonly<Record<string, unknown>>; positionals: string[] } = parseArgs({
      args: args.slice(args[0] === "--" ? 1 : 0),
      options,
      allowPositionals,
    });
    const texts = (name: string): string[] => (values[name] as string[] | undefined) ?? [];
    const text = (name: string): string | undefined => texts(name).at(-1);
    const result = values.help
      ? help
      : read({
          ...{ names: Object.keys(values), words: positionals, texts, text },
          flag: (name) => values[name] === true,
          integer: (name, byDefault, min, max) => integer(`--${name}`, text(name), min, max) ?? byDefault,
        });
    return typeof result === "string" ? { kind: "print", text: result } : { kind: "run", options: result };
  } catch (error) {
    return { kind: "bad", message: (error as Error).message };
  }
}

function integer(option: string, text: string | undefined, min: number, max = Number.MAX_SAFE_INTEGER) {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= min && value <= max) return value;
  const range = max === Number.MAX_SAFE_INTEGER ? `from ${min}` : `from ${min} to ${max}`;
  throw new RangeError(`${option} must be a whole number ${range}, not ${JSON.stringify(text)}`);
}

const exitCodes = { clean: 0, violated: 1, cannotRun: 2 };

/**
 * Runs a program, and undoes everything it started, however it ends. Exits with 0 if `run` resolves with true and with 1 if
 * it resolves with false. Exits with 2 for bad options or when `run` rejects, and with 128 plus its number after a signal.
 */
export function runProgram<Options>(
  name: string,
  command: Command<Options>,
  run: (options: Options, cleanup: Cleanup, signal: AbortSignal) => Promise<boolean>,
): Promise<void> {
  return runInterruptible(async (interrupt) => {
    if (command.kind === "print") {
      process.stdout.write(command.text);
      return exitCodes.clean;
    }
    if (command.kind === "bad") {
      process.stderr.write(`${name}: ${command.message}\nTry --help.\n`);
      return exitCodes.cannotRun;
    }
    const { signal } = interrupt;
    const cleanup = createCleanup();
    try {
      const isClean = await Promise.race([run(command.options, cleanup, signal), rejectionOf(signal)]);
      return isClean ? exitCodes.clean : exitCodes.violated;
    } catch (error) {
      await cleanup.run(); // clears the screen, too
      if (signal.aborted) {
        console.log("Stopped before the end: no verdict.");
        return interrupt.exitCode;
      }
      process.stderr.write(`${name}: ${(error as Error).message}\n`);
      return exitCodes.cannotRun;
    } finally {
      await cleanup.run();
    }
  });
}

function rejectionOf(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
}
