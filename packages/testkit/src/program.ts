import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { bundleProgram } from "./bundle-program.ts";

/** The exit code and output of a program. */
export interface ProgramOutcome {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** Options of {@link runProgram}. */
export interface ProgramOptions {
  readonly cwd: string;
  /** Environment variables, in addition to those of this process. */
  readonly env?: Readonly<Record<string, string>>;
  /** Called with each piece of output. */
  readonly onOutput?: (text: string, child: ChildProcess) => void;
}

/**
 * Runs a TypeScript program, with workspace packages from source, in a separate process group. Waits until
 * all processes of that group have ended.
 *
 * @throws {Error} if the program leaves processes behind, after killing them
 */
export async function runProgram(
  file: string,
  args: readonly string[],
  { cwd, env = {}, onOutput = () => {} }: ProgramOptions,
): Promise<ProgramOutcome> {
  const child = spawn(process.execPath, [await bundleProgram(resolve(cwd, file)), ...args], {
    cwd,
    detached: true,
    env: { ...process.env, NO_COLOR: "1", FORCE_COLOR: undefined, ...env },
  });
  let out = "";
  let err = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    out += text;
    onOutput(text, child);
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    err += text;
  });
  await once(child, "close");
  await groupToEnd(child.pid as number);
  return { code: child.exitCode, out, err };
}

/** Waits until the group has no processes, zombies included. */
async function groupToEnd(group: number): Promise<void> {
  for (let looks = 0; looks < 100; looks++) {
    try {
      process.kill(-group, 0);
    } catch {
      return;
    }
    await sleep(100);
  }
  process.kill(-group, "SIGKILL");
  throw new Error("the program has left processes behind");
}
