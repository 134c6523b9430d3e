import { execFile } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { promisify } from "node:util";

/** Sends a signal to a process and its children, the parent first. A process that has ended is no error. */
export async function signalTree(parent: number, signal: NodeJS.Signals): Promise<void> {
  // A stopped parent starts no children that the list would lack.
  send(parent, "SIGSTOP");
  const children = await childrenOf(parent);
  for (const pid of [parent, ...children]) send(pid, signal);
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {} // it has ended
}

async function childrenOf(parent: number): Promise<number[]> {
  const all = process.platform === "linux" ? await processesOfLinux() : await processesByPs();
  return all.filter(({ parentPid }) => parentPid === parent).map(({ pid }) => pid);
}

interface ProcessEntry {
  readonly pid: number;
  readonly parentPid: number;
}

async function processesOfLinux(): Promise<ProcessEntry[]> {
  const pids = (await readdir("/proc")).map(Number).filter((pid) => pid > 0);
  const entries = await Promise.all(
    pids.map(async (pid) => {
      const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
      // The second field is the name of the program in parentheses. The state and the parent follow it.
      return { pid, parentPid: Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]) };
    }),
  );
  return entries;
}

async function processesByPs(): Promise<ProcessEntry[]> {
  const { stdout } = await promisify(execFile)("ps", ["-A", "-o", "pid=,ppid="]);
  return stdout
    .trim()
    .split("\n")
    .map((line) => line.trim().split(/\s+/).map(Number))
    .map(([pid = 0, parentPid = 0]) => ({ pid, parentPid }));
}
