import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";

/** How a program ended, and what it printed. */
export interface ProgramOutcome {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** How a program is run. */
export interface ProgramOptions {
  readonly cwd: string;
  /** Environment variables beside those of this process. */
  readonly env?: Readonly<Record<string, string>>;
  /** Is called with what the program prints, as it does. */
  readonly onOutput?: (text: string, child: ChildProcess) => void;
}

/**
 * Runs a TypeScript program as users do, workspace packages from source, in a process group of its own, and waits for the
 * end of all that it has started.
 *
 * @throws {Error} when it leaves processes behind, which are killed then
 */
export async function runProgram(
  file: string,
  args: readonly string[],
  { cwd, env = {}, onOutput = () => {} }: ProgramOptions,
): Promise<ProgramOutcome> {
  const child = spawn(process.execPath, ["--conditions=@holdfast/source", "--import", "tsx", file, ...args], {
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

/** Waits until no process of the group is left; what the kernel has not cleared away yet counts as left. */
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
