import type { DemoOptions } from "./options.ts";

/** Something that the workers contend for: a counter in the database, and the lock of the same name. */
export interface Resource {
  readonly name: string;
  /** Whether the database checks fencing tokens. Where it does not, nothing but the lock protects the counter. */
  readonly fenced: boolean;
  /** How often it is visited, compared with the others. */
  readonly weight: number;
  /** How long a worker usually stays between its read and its write, in milliseconds, at least and at the most. */
  readonly dwellMs: readonly [number, number];
  /** The share of the visits that outlast the ttl, so that the lock has to be extended. */
  readonly longShare: number;
}

/** What a run consists of. It does not change while it runs. */
export interface Setup {
  readonly mode: "memory" | "redis";
  /** Whether the workers lock. */
  readonly locked: boolean;
  /** Whether they measure that. */
  readonly metrics: boolean;
  readonly seconds: number;
  readonly ttlMs: number;
  readonly nodeTimeoutMs: number;
  /** How long a worker waits for a resource before it goes elsewhere. */
  readonly patienceMs: number;
  readonly nodes: readonly string[];
  readonly quorum: number;
  readonly workers: readonly string[];
  /** The worker that is paused past its ttl. */
  readonly sleeper: string;
  readonly resources: readonly Resource[];
  /** The fenced resource on which that happens. */
  readonly sleeperResource: string;
}

const resources: readonly Resource[] = [
  { name: "orders", fenced: false, weight: 3, dwellMs: [10, 80], longShare: 0 },
  { name: "stock", fenced: false, weight: 3, dwellMs: [40, 160], longShare: 0 },
  { name: "report", fenced: false, weight: 1, dwellMs: [40, 160], longShare: 0.2 },
  { name: "ledger", fenced: true, weight: 3, dwellMs: [40, 160], longShare: 0 },
];

/** Makes the setup that the command line asks for. */
export function setupOf({ redis, seconds, workers, broken, metrics }: DemoOptions): Setup {
  // Short enough for a pause past the ttl to fit in, long enough for a loaded machine.
  const ttlMs = Math.min(2000, Math.max(1000, seconds * 100));
  const nodes = ["n1", "n2", "n3", "n4", "n5"];
  return {
    mode: redis ? "redis" : "memory",
    locked: !broken,
    metrics,
    seconds,
    ttlMs,
    nodeTimeoutMs: ttlMs / 5,
    patienceMs: ttlMs / 2,
    nodes,
    quorum: Math.floor(nodes.length / 2) + 1,
    workers: Array.from({ length: workers }, (_, index) => `w${index + 1}`),
    sleeper: "sleeper",
    resources,
    sleeperResource: "ledger",
  };
}
