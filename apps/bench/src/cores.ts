/** Keeps cores awake. */
import { execFile, spawn } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { reapedDirectory } from "@holdfast/testkit";
import type { Cleanup } from "@holdfast/testkit/cleanup";

const run = promisify(execFile);

/**
 * Runs an endless loop of idle priority on each core. It yields at once to any other process, and keeps a core of a
 * virtual machine from halting, which would make each wake-up slow.
 *
 * @returns the reason if there are no loops
 */
export async function startIdleLoops(cleanup: Cleanup): Promise<string | undefined> {
  if (!(await works("chrt", "-i", "0", "true"))) return "`chrt` is missing: cores may halt, and wake-ups be slow";
  const canPin = await works("taskset", "-V");
  for (const core of await allowedCores()) {
    const pinned = canPin ? ["taskset", "-c", String(core)] : [];
    const loop = [...pinned, "nice", "-n", "19", "chrt", "-i", "0", "sh", "-c", "while :; do :; done"];
    const child = spawn(loop[0] as string, loop.slice(1), { stdio: "ignore" });
    child.on("error", () => {});
    cleanup.defer(() => void child.kill("SIGKILL"));
    // Also ends with this process if that is killed.
    await writeFile(join(await reapedDirectory(), "pid"), String(child.pid));
  }
  return undefined;
}

/** The cores that this process may run on. */
async function allowedCores(): Promise<number[]> {
  const status = await readFile("/proc/self/status", "utf8").catch(() => "");
  const list = /^Cpus_allowed_list:\s*(\S+)$/m.exec(status)?.[1] ?? "0";
  return list.split(",").flatMap((range) => {
    const [from = 0, to = from] = range.split("-").map(Number);
    return Array.from({ length: to - from + 1 }, (_, index) => from + index);
  });
}

async function works(program: string, ...args: string[]): Promise<boolean> {
  return run(program, args).then(
    () => true,
    () => false,
  );
}
