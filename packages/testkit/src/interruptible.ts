import { constants } from "node:os";

/** A request to stop early. */
export interface Interrupt {
  /** Aborts on the first request. */
  readonly signal: AbortSignal;
  /** The exit code after a request, as in shells: 128 plus the number of the signal. 0 before. */
  readonly exitCode: number;
}

/** Grace period for open handles when the main function has ended. */
const graceMs = 3_000;

/**
 * Runs the main function of a program, which returns the exit code. SIGINT, SIGTERM, SIGHUP and a closed output (SIGPIPE)
 * abort `signal`, so that the program can clean up. A second signal exits immediately.
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
