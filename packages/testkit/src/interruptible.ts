import { constants } from "node:os";

/** How a program is told to stop before its end. */
export interface Interrupt {
  /** Aborts when it is told. */
  readonly signal: AbortSignal;
  /** What to exit with then, as shells do: 128 and the number of the signal. 0 until then. */
  readonly exitCode: number;
}

/** What may be left at the end has this long to end by itself. */
const graceMs = 3_000;

/**
 * Runs the main function of a program, which answers with its exit code. SIGINT, SIGTERM and SIGHUP interrupt it, so that
 * it can undo what it has done; a second one ends the process at once. So does nobody reading its output any more, which
 * ends most programs by SIGPIPE.
 */
export async function runInterruptible(main: (interrupt: Interrupt) => Promise<number>): Promise<void> {
  const controller = new AbortController();
  const interrupt = { signal: controller.signal, exitCode: 0 };
  const stop = (name: NodeJS.Signals): void => {
    interrupt.exitCode = 128 + constants.signals[name];
    controller.abort();
  };
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.on(name, () => {
      if (interrupt.signal.aborted) process.exit(interrupt.exitCode);
      stop(name);
    });
  }
  process.stdout.on("error", () => stop("SIGPIPE"));

  process.exitCode = await main(interrupt);
  setTimeout(() => process.exit(), graceMs).unref();
}
