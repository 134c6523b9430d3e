import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { onTestFinished } from "vitest";
import { builtProgram } from "./programs.ts";

/** A process that plays one host. It is killed when the test has finished, at the latest. */
export interface Child {
  /** Writes a line to its input: it is read when the process gets to it. */
  tell(line: string): void;
  /** Resolves with the next line of its output that matches, and drops those before. Rejects when it ends without one. */
  says(pattern: RegExp): Promise<string>;
  /** Sends a signal: SIGSTOP and SIGCONT pause the process and let it run on. */
  send(signal: NodeJS.Signals): void;
  /** Resolves with its exit code when it has ended; null where a signal has ended it. */
  readonly ended: Promise<number | null>;
}

/** Starts a program of `fixtures`. What it complains of is shown. */
export function startChild(fixture: string, ...args: readonly string[]): Child {
  const child = spawn(process.execPath, [builtProgram(fixture), ...args], { stdio: ["pipe", "pipe", "inherit"] });
  child.stdin.on("error", () => {}); // what is told to a process that has ended
  const ended = once(child, "close").then(([code]) => code as number | null);
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await ended;
  });
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  return {
    ended,
    tell: (line) => void child.stdin.write(`${line}\n`),
    send: (signal) => void child.kill(signal),
    async says(pattern) {
      for (;;) {
        const { value, done } = await lines.next();
        if (done) throw new Error(`${fixture} has ended, and has not said ${pattern}`);
        if (pattern.test(value)) return value;
      }
    },
  };
}
