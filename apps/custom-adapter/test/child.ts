import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";

/** A program of ours that runs in a process of its own. It is killed when the test has finished, at the latest. */
export interface Child {
  /** What it prints, line by line, until it has ended. */
  readonly lines: AsyncIterable<string>;
  /** Ends it at once, wherever it is. Resolves when it has ended. */
  kill(): Promise<void>;
}

/** Starts a TypeScript program. What it complains of is shown. */
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
