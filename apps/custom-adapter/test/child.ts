import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";

/** A process that runs a program. It is killed at the end of the test. */
export interface Child {
  /** The lines of its output. */
  readonly lines: AsyncIterable<string>;
  /** Kills it, and resolves when it has ended. */
  kill(): Promise<void>;
}

/** Starts a TypeScript program. Its stderr is shown. */
export function startChild(program: URL, ...args: readonly string[]): Child {
  const child: ChildProcessByStdio<null, Readable, null> = spawn(
    process.execPath,
    ["--conditions=@holdfast/source", "--import", "tsx", fileURLToPath(program), ...args],
    { stdio: ["ignore", "pipe", "inherit"] },
  );
  const ended = once(child, "close");
  const kill = async (): Promise<void> => {
    child.kill("SIGKILL");
    await ended;
  };
  onTestFinished(kill);
  return { lines: createInterface(child.stdout), kill };
}
