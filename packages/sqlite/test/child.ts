import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { bundleProgram } from "@holdfast/testkit/bundle-program";
import { onTestFinished } from "vitest";

/** A process that runs a program. It is killed at the end of the test. */
export interface Child {
  readonly pid: number;
  /** Its input. */
  readonly input: Writable;
  /** The lines of its output. */
  readonly lines: AsyncIterable<string>;
  /** Resolves with its exit code when it has ended; null if it was killed. */
  readonly ended: Promise<number | null>;
  /** Kills it, and resolves when it has ended. */
  kill(): Promise<void>;
}

/** Starts a TypeScript program. Its stderr is shown. */
export async function startChild(program: URL, ...args: readonly string[]): Promise<Child> {
  const child: ChildProcessByStdio<Writable, Readable, null> = spawn(
    process.execPath,
    [await bundleProgram(program), ...args],
    { stdio: ["pipe", "pipe", "inherit"] },
  );
  const ended = once(child, "close").then(([code]) => code as number | null);
  const kill = async (): Promise<void> => {
    child.kill("SIGKILL");
    await ended;
  };
  onTestFinished(kill);
  return { pid: child.pid ?? 0, input: child.stdin, lines: createInterface(child.stdout), ended, kill };
}
