import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { bundleProgram } from "@holdfast/testkit/bundle-program";
import { onTestFinished } from "vitest";

/** A process that plays a host. It is killed at the end of the test. */
export interface Child {
  /** Writes a line to its input. */
  tell(line: string): void;
  /** Resolves with the next matching line of its output, and drops those before. Rejects if the process ends first. */
  says(pattern: RegExp): Promise<string>;
  /** Sends a signal. SIGSTOP pauses the process, and SIGCONT resumes it. */
  send(signal: NodeJS.Signals): void;
  /** Resolves with its exit code; null after a signal. */
  readonly ended: Promise<number | null>;
}

/** Starts a program of `fixtures`. Its stderr is shown. */
export async function startChild(fixture: string, ...args: readonly string[]): Promise<Child> {
  const program = await bundleProgram(new URL(`./fixtures/${fixture}.ts`, import.meta.url));
  const child = spawn(process.execPath, [program, ...args], { stdio: ["pipe", "pipe", "inherit"] });
  child.stdin.on("error", () => {}); // the process has ended
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
        if (done) throw new Error(`${fixture} has ended without printing ${pattern}`);
        if (pattern.test(value)) return value;
      }
    },
  };
}
