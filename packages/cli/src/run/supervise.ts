import { inOptionNames } from "../failures.ts";
import { printMessage } from "../output/print.ts";
import { endsPrograms, type Signals } from "../signals.ts";
import { startChild } from "./child.ts";

/** A command that runs only while this process holds something. */
export interface SupervisedCommand {
  readonly command: string;
  readonly commandArguments: readonly string[];
  /** How long a command that has lost its lock may run after SIGTERM, in milliseconds. */
  readonly killAfterMs: number;
  /** Whether the command leads its own process group. */
  readonly inGroup: boolean;
  /** The longest time to hold the lock or the term, in milliseconds. */
  readonly maxHoldMs: number;
  /** The label that shows people the holder. */
  readonly label: string;
}

/** A lock, the permits of a semaphore, or the term of a leader. */
export interface Hold {
  /** Names it in messages, as in "the lock". */
  readonly what: string;
  /** The environment variables that tell the command about it. */
  readonly variables: NodeJS.ProcessEnv;
  /** Aborts when it is lost. */
  readonly signal: AbortSignal;
  remainingMs(): number;
}

/** How a command ended. */
export interface Ending {
  /** The exit code of the command, or 128 + the number of the signal that ended it. */
  readonly exitCode: number;
  /** Whether the lock was lost before. */
  readonly wasLost: boolean;
  /** Whether a terminating signal was forwarded to the command. */
  readonly wasTerminated: boolean;
}

/**
 * Runs a command until it ends, and ends it when the lock is lost.
 *
 * @throws {Failure} if the command could not be started
 */
export async function supervise(options: SupervisedCommand, held: Hold, signals: Signals): Promise<Ending> {
  const { command, commandArguments, inGroup, killAfterMs } = options;
  const { what, variables, signal } = held;
  const env = { ...process.env, ...variables };
  const child = startChild(command, commandArguments, { env, inGroup });
  let wasTerminated = false;
  const pass = (name: NodeJS.Signals): void => {
    wasTerminated ||= endsPrograms(name);
    child.signal(name);
  };
  signals.passOnTo(pass, !inGroup);

  let ending: Promise<void> | undefined;
  const onLost = (): void => {
    ending = child.end(killAfterMs);
    // Last, because writing blocks while nothing reads standard error.
    printMessage(`lost ${what}, ending the command: ${inOptionNames((signal.reason as Error).message)}`);
  };
  signal.addEventListener("abort", onLost);
  try {
    const exitCode = await child.ended;
    // The leader of the group has ended. Processes that it started may still be working, and the lock is kept for them.
    if (inGroup && wasTerminated && ending === undefined) await child.end(killAfterMs);
    held.remainingMs(); // checks the clocks: after a suspension, a timer may not have fired yet
    await ending;
    return { exitCode, wasLost: ending !== undefined, wasTerminated };
  } finally {
    signal.removeEventListener("abort", onLost);
  }
}
