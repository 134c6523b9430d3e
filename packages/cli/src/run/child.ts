import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { exitCodes, Failure } from "../exit-codes.ts";
import { exitCodeOf } from "../signals.ts";

/** A running command. */
export interface Child {
  /**
   * Resolves with the exit code of the command, or 128 + the number of the signal that ended it. Rejects with a {@link
   * Failure} if it could not be started.
   */
  readonly ended: Promise<number>;
  /** Sends a signal to the command. Does nothing if it has ended. */
  signal(name: NodeJS.Signals): void;
  /** Sends SIGTERM and, after `killAfterMs`, SIGKILL to everything that is left. */
  end(killAfterMs: number): Promise<void>;
}

/** The options of {@link startChild}. */
export interface ChildOptions {
  /** The complete environment. */
  readonly env: NodeJS.ProcessEnv;
  /** Whether the command leads its own process group, which then receives the signals. */
  readonly inGroup: boolean;
}

/** How often to poll whether a process group has ended: there is no notification. */
const pollIntervalMs = 50;

/** Starts a command with the standard streams of this process. */
export function startChild(command: string, args: readonly string[], { env, inGroup }: ChildOptions): Child {
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
  return {
    ended,
    signal: send,
    async end(killAfterMs) {
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
    },
  };
}

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
