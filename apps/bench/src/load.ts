/** Measures the processor time of processes. */
import { readdirSync, readFileSync } from "node:fs";

interface Reading {
  /** Ticks of all cores together. */
  readonly all: number;
  /** Ticks that the hypervisor gave to other machines. */
  readonly stolen: number;
  /** Ticks of each process outside of the benchmark. */
  readonly others: ReadonlyMap<number, number>;
}

/**
 * Starts to watch. The returned function returns the share of all cores that the hypervisor stole, or that processes other than
 * this one and its descendants used. Kernel threads do not count, because they mostly work for the benchmark, nor do processes
 * of idle priority, which yield to it. Returns 0 without `/proc`.
 */
export function watchOthers(): () => number {
  const before = read();
  return () => {
    const after = read();
    if (before === undefined || after === undefined || after.all === before.all) return 0;
    let used = after.stolen - before.stolen;
    for (const [pid, ticks] of after.others) used += ticks - (before.others.get(pid) ?? 0);
    return used / (after.all - before.all);
  };
}

/**
 * The processor time of a process and its descendants until now, in microseconds. NaN without `/proc`. Counts nanoseconds of
 * each thread, as the ticks of `/proc/[pid]/stat` are longer than what a process uses that is one of many.
 */
export function treeCpuUs(root: number): number {
  const tree = [...descendants(root, readStats())];
  const timesNs = tree.flatMap((pid) => listing(`/proc/${pid}/task`).map((thread) => threadNs(pid, thread)));
  return timesNs.length === 0 ? Number.NaN : timesNs.reduce((sum, ns) => sum + ns, 0) / 1_000;
}

function threadNs(pid: number, thread: string): number {
  try {
    return Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "utf8").split(" ")[0]);
  } catch {
    return 0; // it has just ended
  }
}

function listing(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return []; // there is no such process, or no such file system
  }
}

interface Stat {
  readonly pid: number;
  readonly parent: number;
  readonly ticks: number;
}

const kernelThreads = 2;
/** `SCHED_IDLE` in `/proc/[pid]/stat`. */
const idlePolicy = "5";

function read(): Reading | undefined {
  try {
    // user nice system idle iowait irq softirq steal; the rest is part of user and nice.
    const ticks = (readFileSync("/proc/stat", "utf8").split("\n")[0] ?? "").trim().split(/\s+/).slice(1, 9).map(Number);
    const stats = readStats();
    const ours = descendants(process.pid, stats);
    const others = stats.filter(
      ({ pid, parent }) => !ours.has(pid) && parent !== kernelThreads && pid !== kernelThreads,
    );
    return {
      all: ticks.reduce((sum, count) => sum + count, 0),
      stolen: ticks[7] ?? 0,
      others: new Map(others.map((stat) => [stat.pid, stat.ticks])),
    };
  } catch {
    return undefined;
  }
}

function readStats(): Stat[] {
  return listing("/proc").flatMap((name) => (/^\d+$/.test(name) ? readStat(name) : []));
}

function readStat(name: string): Stat[] {
  try {
    const text = readFileSync(`/proc/${name}/stat`, "utf8");
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    const ticks = fields[38] === idlePolicy ? 0 : Number(fields[11]) + Number(fields[12]);
    return [{ pid: Number(name), parent: Number(fields[1]), ticks }];
  } catch {
    return []; // it has just ended
  }
}

function descendants(root: number, stats: readonly Stat[]): Set<number> {
  const found = new Set([root]);
  for (let before = 0; before < found.size; ) {
    before = found.size;
    for (const { pid, parent } of stats) if (found.has(parent)) found.add(pid);
  }
  return found;
}
