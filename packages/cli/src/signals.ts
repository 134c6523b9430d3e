import { constants } from "node:os";
import { isatty } from "node:tty";

/** Where the signals that this process gets go. */
export interface Signals {
  /** Aborts when one of those that end programs comes while there is no command yet. */
  readonly interrupted: AbortSignal;
  /** What to exit with then: 128 and the number of the signal. */
  readonly exitCode: number;
  /**
   * From now on, signals go to a command.
   *
   * @param command sends it a signal
   * @param sharesTerminal whether it gets what a terminal sends by itself, being in the same group
   */
  passOnTo(command: (signal: NodeJS.Signals) => void, sharesTerminal: boolean): void;
  /** Lets signals do what they do to programs that do not care. */
  stopListening(): void;
}

/** Those that end programs. */
const ending: readonly NodeJS.Signals[] = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"];
/** Those that tell programs something. */
const telling: readonly NodeJS.Signals[] = ["SIGUSR1", "SIGUSR2"];
/**
 * What a terminal sends to all programs in front of it, and so to the command, too: passed on, it would come twice. SIGHUP is
 * none of these, as a terminal that is gone sends it to the first program of the session alone.
 */
const fromTerminals: readonly NodeJS.Signals[] = ["SIGINT", "SIGQUIT"];

/**
 * Begins to listen. From then on no signal but SIGKILL ends this process, which must outlive its command: who presses Ctrl-C
 * twice must not leave a command without a lock behind.
 */
export function listenToSignals(): Signals {
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
    stopListening(): void {
      for (const name of [...ending, ...telling]) process.off(name, onSignal);
    },
  };
  const onSignal = (name: NodeJS.Signals): void => {
    if (pass !== undefined) pass(name);
    else if (ending.includes(name)) {
      signals.exitCode ||= exitCodeOf(name);
      controller.abort();
    }
  };
  for (const name of [...ending, ...telling]) process.on(name, onSignal);
  return signals;
}

/** Whether it ends programs that do not care. */
export function endsPrograms(name: NodeJS.Signals): boolean {
  return ending.includes(name);
}

/** What shells say of a program that a signal has ended. */
export function exitCodeOf(signal: NodeJS.Signals): number {
  return 128 + constants.signals[signal];
}
