/** How one value is written: milliseconds, a whole number, two decimals, or three digits. */
export type Format = "ms" | "whole" | "ratio" | "digits";

/** What is measured, and how it is told. */
export interface Measure {
  /** The head of its column. */
  readonly title: string;
  /** What it means, for those who have not read the code. */
  readonly meaning: string;
  /** Which end is the better one. */
  readonly better: "more" | "less";
  /** Rounds are summed up by their median, or by the worst of them where one time is one too many. */
  readonly over: "median" | "worst";
  readonly format: Format;
}

/** All measures, by the names that they have in the raw figures. */
const measures = {
  opsPerSecond: more("pairs/s", "whole", "pairs of acquire and release in a second"),
  acquireP50Ms: less("acquire p50", "ms", "half of the locks were acquired within this time"),
  acquireP99Ms: less("acquire p99", "ms", "99 of 100 locks were acquired within this time"),
  pairP50Ms: less("pair p50", "ms", "half of the pairs took no longer, release included"),
  pairP99Ms: less("pair p99", "ms", "99 of 100 pairs took no longer, release included"),
  clientCpuUs: less(
    "client CPU µs",
    "digits",
    "processor time of the client's process for one lock, its kernel time included",
  ),
  serverCpuUs: less("servers CPU µs", "digits", "processor time of all servers together for one lock (INFO cpu)"),
  bytesPerLock: less("bytes", "whole", "bytes that all servers received and sent for one lock (INFO stats)"),
  allocatedBytes: less(
    "allocated bytes",
    "whole",
    "what the JavaScript heap grew by between collections, for one lock (v8.GCProfiler)",
  ),
  locksPerSecond: more("locks/s", "digits", "locks in a second, of all workers together"),
  waitP50Ms: less("wait p50", "ms", "half of the callers waited no longer, successful or not"),
  waitP99Ms: less("wait p99", "ms", "99 of 100 callers waited no longer"),
  waitMaxMs: never("longest wait", "ms", "the longest that anybody waited, those included who still did at the end"),
  failed: never("failed", "whole", "calls that were rejected; the most in any round"),
  stuck: never("stuck", "whole", "calls that had not settled a second after the end; the most in any round"),
  jainWorkers: more(
    "Jain, workers",
    "ratio",
    "Jain's fairness index of the workers' shares: 1 when all had as many locks",
  ),
  jainProcesses: more("Jain, processes", "ratio", "the same of the processes' shares"),
  commandsPerNode: less(
    "commands",
    "ratio",
    "Redis commands sent for one lock to one node, acquire and release and all attempts together",
  ),
  writesPerNode: less("writes", "ratio", "writes to one node's connection for one lock; many commands may share one"),
  timersPerLock: less("timers", "ratio", "timers started for one lock"),
  promisesPerLock: less("promises", "ratio", "promises made for one lock"),
  handOverP50Ms: less(
    "p50",
    "ms",
    "half of the hand-overs, from the call of release to the other's lock, took no longer",
  ),
  handOverP99Ms: less("p99", "ms", "99 of 100 hand-overs took no longer"),
  handOvers: more("hand-overs", "whole", "how many were measured; few where they take long"),
  heapPerLockBytes: less(
    "heap bytes",
    "whole",
    "what the JavaScript heap grew by for one held lock, all garbage collected",
  ),
  timersPerHeldLock: less("timers", "ratio", "timers that run for one held lock"),
  importMs: less("import", "ms", "time from the start of `import` to its end, in a fresh process"),
} satisfies Record<string, Measure>;

/** The name of a measure. */
export type MeasureName = keyof typeof measures;

/** What one run came to. */
export type Figures = Partial<Record<MeasureName, number>>;

/** The measure of this name. */
export function measureNamed(name: MeasureName): Measure {
  return measures[name];
}

function more(title: string, format: Format, meaning: string): Measure {
  return { title, format, meaning, better: "more", over: "median" };
}

function less(title: string, format: Format, meaning: string): Measure {
  return { title, format, meaning, better: "less", over: "median" };
}

/** What is best when it does not occur. */
function never(title: string, format: Format, meaning: string): Measure {
  return { title, format, meaning, better: "less", over: "worst" };
}
