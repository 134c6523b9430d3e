import { constants } from "node:os";
import { isatty } from "node:tty";

/** Handles the signals that this process receives. */
export interface Signals {
  /** Aborts when a terminating signal arrives while no command runs. */
  readonly interrupted: AbortSignal;
  /** The exit code in that case: 128 + the number of the signal. */
  readonly exitCode: number;
  /**
   * Forwards all further signals to a command.
   *
   * @param command sends it a signal
   * @param sharesTerminal whether it is in the foreground group, and receives the signals of the terminal directly
   */
  passOnTo(command: (signal: NodeJS.Signals) => void, sharesTerminal: boolean): void;
  /** Stops forwarding, when the command has ended: a terminating signal then aborts `interrupted`. */
  keep(): void;
}

/** The signals that terminate a program by default. */
const terminating: readonly NodeJS.Signals[] = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"];
/** The signals with a meaning that the command defines. */
const userDefined: readonly NodeJS.Signals[] = ["SIGUSR1", "SIGUSR2"];
/**
 * The signals that a terminal sends to all programs in the foreground, and so also to the command: forwarding them
 * would deliver them twice. SIGHUP is not among them, because a terminal that closes sends it only to the leader of the
 * session.
 */
const fromTerminals: readonly NodeJS.Signals[] = ["SIGINT", "SIGQUIT"];

/**
 * Handles signals while `use` runs. No signal except SIGKILL ends this process meanwhile, which must outlive its command:
 * pressing Ctrl-C twice must not leave a command running without a lock.
 */
export async function withSignals<T>(use: (signals: Signals) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  const isAtTerminal = [0, 1, 2].some((descriptor) => isatty(descriptor));
  let pass: ((signal: NodeJS.Signals) => void) | undefined;
  const signals = {
    interrupted: controller.signal,
    exitCode: 0,
    passOnTo(command: (signal: NodeJS.Signals) => void, sharesTerminal: boolean): void {
      const comesTwice = (name: NodeJS.Signals) => sharesTerminal && isAtTerminal && fromTerminals.includes(name);
      pass = (name) => {
        if (!comesTwice(name)) command(name);
      };
    },
    keep(): void {
      pass = undefined;
    },
  };
  const onSignal = (name: NodeJS.Signals): void => {
    if (pass !== undefined) pass(name);
    else if (terminating.includes(name)) {
      signals.exitCode ||= exitCodeOf(name);
      controller.abort();
    }
  };
  const names = [...terminating, ...userDefined];
  for (const name of names) process.on(name, onSignal);
  try {
    return await use(signals);
  } finally {
    for (const name of names) process.off(name, onSignal);
  }
}

/** Returns whether a signal terminates a program by default. */
export function endsPrograms(name: NodeJS.Signals): boolean {
  return terminating.includes(name);
}

/** Returns the exit code that shells report for a program that a signal has ended. */
export function exitCodeOf(signal: NodeJS.Signals): number {
  return 128 + constants.signals[signal];
}
