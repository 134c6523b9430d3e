import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { exitCodes, Failure } from "../exit-codes.ts";
import { inOptionNames } from "../failures.ts";
import { printMessage } from "../output/print.ts";
import { endsPrograms, exitCodeOf, type Signals } from "../signals.ts";

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
  const child = startChild(command, commandArguments, { ...process.env, ...variables }, inGroup);
  let wasTerminated = false;
  const pass = (name: NodeJS.Signals): void => {
    wasTerminated ||= endsPrograms(name);
    child.send(name);
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

/** How often to poll whether a process group has ended: there is no notification. */
const pollIntervalMs = 50;

/** Starts a command with the standard streams of this process. In a group of its own, all of it receives the signals. */
function startChild(command: string, args: readonly string[], env: NodeJS.ProcessEnv, inGroup: boolean) {
  const child = begin(command, () => spawn(command, [...args], { stdio: "inherit", env, detached: inGroup }));
  const ended = endOf(child, command);
  const send = (name: NodeJS.Signals | 0): boolean => {
    const hasEnded = child.exitCode !== null || child.signalCode !== null;
    if (child.pid === undefined || (hasEnded && !inGroup)) return false;
    try {
      // Not child.kill(), which reports a signal that is not permitted as if the command had failed.
      return process.kill(inGroup ? -child.pid : child.pid, name);
    } catch {
      return false;
    }
  };
  /** Sends SIGTERM and, after `killAfterMs`, SIGKILL to everything that is left. */
  const end = async (killAfterMs: number): Promise<void> => {
    const isOver = new AbortController();
    const tooLate = sleep(killAfterMs, undefined, isOver).catch(() => {});
    const gone = async (): Promise<void> => {
      await ended;
      while (inGroup && send(0)) await sleep(pollIntervalMs, undefined, isOver);
    };
    send("SIGTERM");
    await Promise.race([gone().catch(() => {}), tooLate]);
    isOver.abort();
    send("SIGKILL");
    await ended.catch(() => {});
  };
  return { ended, send, end };
}

/** Returns the exit code of a command, or 128 + the number of the signal that ended it. */
async function endOf(child: ChildProcess, command: string): Promise<number> {
  try {
    const [code, signal]: [number | null, NodeJS.Signals | null] = (await once(child, "close")) as never;
    return signal === null ? Number(code) : exitCodeOf(signal);
  } catch (error) {
    throw startFailure(command, error);
  }
}

/** Starts the child. Some errors are thrown, not emitted. */
function begin(command: string, start: () => ChildProcess): ChildProcess {
  try {
    return start();
  } catch (error) {
    throw startFailure(command, error);
  }
}

function startFailure(command: string, error: unknown): Failure {
  const { code } = error as NodeJS.ErrnoException;
  if (code === "ENOENT" || command === "") return new Failure(`${command || '""'} was not found`, exitCodes.notFound);
  return new Failure(`${command} could not be executed: ${code}`, exitCodes.notExecutable);
}
