import type { DemoOptions } from "./options.ts";

/** A counter in the database, and the lock of the same name. */
export interface Resource {
  readonly name: string;
  /** Whether the database checks fencing tokens. If not, only the lock protects the counter. */
  readonly fenced: boolean;
  /** The relative frequency of visits. */
  readonly weight: number;
  /** The usual shortest and longest time between read and write, in milliseconds. */
  readonly dwellMs: readonly [number, number];
  /** The share of visits that outlast the ttl and need an extension. */
  readonly longShare: number;
}

/** The parameters of a run. */
export interface Setup {
  readonly mode: "memory" | "redis";
  /** Whether the workers lock. */
  readonly locked: boolean;
  /** Whether they serve metrics. */
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
  /** The fenced resource of that worker. */
  readonly sleeperResource: string;
}

const resources: readonly Resource[] = [
  { name: "orders", fenced: false, weight: 3, dwellMs: [10, 80], longShare: 0 },
  { name: "stock", fenced: false, weight: 3, dwellMs: [40, 160], longShare: 0 },
  { name: "report", fenced: false, weight: 1, dwellMs: [40, 160], longShare: 0.2 },
  { name: "ledger", fenced: true, weight: 3, dwellMs: [40, 160], longShare: 0 },
];

/** Makes the setup for the options. */
export function setupOf({ redis, seconds, workers, broken, metrics }: DemoOptions): Setup {
  // Short enough for a pause past the ttl, long enough for a busy machine.
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
