/** How a value is written: in milliseconds, as a whole number, with two decimals, or with three digits. */
export type Format = "ms" | "whole" | "ratio" | "digits";

/** A measure, and its format. */
export interface Measure {
  /** The head of its column. */
  readonly title: string;
  readonly meaning: string;
  readonly better: "more" | "less";
  /** Whether the report shows the median of the rounds, or the worst round. */
  readonly over: "median" | "worst";
  readonly format: Format;
}

/** All measures, by their names in `figures.json`. */
export const measures = {
  pairsPerSecond: more("pairs/s", "whole", "pairs of acquire and release in a second"),
  pairP50Ms: less("pair p50", "ms", "half of the pairs took no longer"),
  pairP99Ms: less("pair p99", "ms", "99 of 100 pairs took no longer"),
  clientCpuUs: less("client CPU µs", "digits", "processor time of the client processes for one lock, kernel included"),
  serverCpuUs: less("servers CPU µs", "digits", "processor time of all servers together for one lock, kernel included"),
  cpuUs: less("CPU µs", "digits", "processor time of the client and of all servers together for one lock"),
  firstPairsMs: less("all pairs", "ms", "how long all pairs took"),
  networkMs: less(
    "round trip",
    "ms",
    "a `PING` through the network, until a majority of the servers replied, before the slice",
  ),
  locksPerSecond: more("locks/s", "digits", "locks in a second, of all workers together"),
  waitP50Ms: less("wait p50", "ms", "half of the calls waited no longer, successful or not"),
  waitP99Ms: less("wait p99", "ms", "99 of 100 calls waited no longer"),
  waitMaxMs: never("longest wait", "ms", "the longest wait in any round, including calls still waiting at its end"),
  failed: never("failed", "whole", "calls that were rejected; the most in any round"),
  stuck: never("stuck", "whole", "calls that had not settled a second after the end; the most in any round"),
  jainWorkers: more("Jain", "ratio", "Jain's fairness index of the workers' shares: 1 if all got the same number"),
  commandsPerNode: less("commands", "ratio", "Redis commands sent to one server for one lock, all attempts included"),
  writesPerNode: less("writes", "ratio", "writes to one server's connection for one lock; commands may share one"),
  bytesPerLock: less("bytes", "whole", "bytes that all servers received and sent for one lock (`INFO stats`)"),
  timersPerLock: less("timers", "ratio", "timers started for one lock"),
  promisesPerLock: less("promises", "ratio", "promises made for one lock"),
  handOverP50Ms: less("p50", "ms", "half of the hand-overs took no longer, from the call of release to the next lock"),
  handOverP99Ms: less("p99", "ms", "99 of 100 hand-overs took no longer"),
  guestLocksPerSecond: more(
    "guests' locks/s",
    "digits",
    "locks in a second of the guests alone, who do not count elsewhere",
  ),
  guestLocksPer50: more("÷ 50", "digits", "locks of the guests per 50 locks of the others"),
  guestWaitMaxMs: never("longest wait of a guest", "ms", "the longest wait of a guest, whether it has ended or not"),
  handOvers: more("hand-overs", "whole", "how many were measured in a round; few if they take long"),
} satisfies Record<string, Measure>;

/** The name of a measure. */
export type MeasureName = keyof typeof measures;

/** The values of one slice. */
export type Figures = Partial<Record<MeasureName, number>>;

function more(title: string, format: Format, meaning: string): Measure {
  return { title, format, meaning, better: "more", over: "median" };
}

function less(title: string, format: Format, meaning: string): Measure {
  return { title, format, meaning, better: "less", over: "median" };
}

/** A measure that should be 0. */
function never(title: string, format: Format, meaning: string): Measure {
  return { title, format, meaning, better: "less", over: "worst" };
}
