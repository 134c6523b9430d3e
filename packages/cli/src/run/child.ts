import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { exitCodes, Failure } from "../exit-codes.ts";
import { exitCodeOf } from "../signals.ts";

/** A command that runs. */
export interface Child {
  /**
   * Resolves with its exit code when it has ended, or 128 and the number of the signal that ended it. Rejects with a
   * {@link Failure} when it could not be started.
   */
  readonly ended: Promise<number>;
  /** Sends it a signal. Does nothing when there is nobody left to get it. */
  signal(name: NodeJS.Signals): void;
  /** Ends it by SIGTERM, and after so many milliseconds what is left of it by SIGKILL. */
  end(killAfterMs: number): Promise<void>;
}

/** How a command is started. */
export interface ChildOptions {
  /** The whole environment. */
  readonly env: NodeJS.ProcessEnv;
  /** Whether it leads a process group of its own, which then gets the signals. */
  readonly inGroup: boolean;
}

/** How often it is looked whether a group has come to its end: nobody is told of that. */
const lookEveryMs = 50;

/** Starts a command, which has the standard streams of this process. */
export function startChild(command: string, args: readonly string[], { env, inGroup }: ChildOptions): Child {
  const child = begin(command, () => spawn(command, [...args], { stdio: "inherit", env, detached: inGroup }));
  const ended = endOf(child, command);
  const send = (name: NodeJS.Signals | 0): boolean => {
    const hasEnded = child.exitCode !== null || child.signalCode !== null;
    if (child.pid === undefined || (hasEnded && !inGroup)) return false;
    try {
      // Not by child.kill(), which reports a signal that is not permitted as if the command had failed.
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
        while (inGroup && send(0)) await sleep(lookEveryMs, undefined, isOver);
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

/** Some errors are thrown at once, and are no events. */
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
