/** The outline of a program: options in, output and an exit code out. */
import { type Cleanup, createCleanup } from "@holdfast/testkit/cleanup";
import { runInterruptible } from "@holdfast/testkit/interruptible";

/** What a command line asks for: to run, to print a text, or the impossible. */
export type Command<Options> =
  | { readonly kind: "run"; readonly options: Options }
  | { readonly kind: "print"; readonly text: string }
  | { readonly kind: "bad"; readonly message: string };

/**
 * Reads a command line. Drops the leading `--` that `pnpm NAME -- --option` passes on.
 *
 * @param read returns the options, or a text to print; throws for options that it refuses
 */
export function readCommand<Options extends object>(
  args: readonly string[],
  read: (args: string[]) => Options | string,
): Command<Options> {
  try {
    const result = read(args[0] === "--" ? args.slice(1) : [...args]);
    return typeof result === "string" ? { kind: "print", text: result } : { kind: "run", options: result };
  } catch (error) {
    return { kind: "bad", message: (error as Error).message };
  }
}

/**
 * Reads a whole number.
 *
 * @throws {RangeError} if the text is none, or out of range
 */
export function integer(option: string, text: string, min: number, max = Number.MAX_SAFE_INTEGER): number {
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
