import type { Figures } from "../src/measure/measures.ts";
import type { Recording, Slice } from "../src/record.ts";

const at100 = "5 servers, 100 at a time";
const overNetwork = "5 servers, 1 at a time, round trips of 0.5 ms";

/** Two rounds, the second on a machine half as fast. */
export const recording: Recording = {
  machine: {
    date: "2026-11-20",
    processor: "An Imaginary One",
    cores: 2,
    memoryGb: 8,
    system: "linux 6.1.0 x64",
    node: "v20.20.2",
    redisServer: "7.0.15",
    versions: { ioredis: "6.0.0" },
  },
  command: "pnpm bench --quick",
  isQuick: true,
  seconds: 90,
  notes: ["no idle loops: `chrt` is missing"],
  repeated: 3,
  slices: [
    ...twice("uncontended", at100, "holdfast/ioredis", { pairsPerSecond: 30_000, clientCpuUs: 10, serverCpuUs: 20 }),
    ...twice("uncontended", at100, "redlock 5 beta", { pairsPerSecond: 4_000, clientCpuUs: 100, serverCpuUs: 90 }),
    ...twice("uncontended", at100, "redis-semaphore", { pairsPerSecond: 3_000, clientCpuUs: 120, serverCpuUs: 80 }),
    ...twice("uncontended", at100, "redlock-universal/node-redis", { pairsPerSecond: 5_000, clientCpuUs: 90 }),
    ...twice("uncontended", at100, "raw ioredis, fenced", { pairsPerSecond: 4_000, clientCpuUs: 60 }),
    ...twice("uncontended", at100, "raw ioredis, fenced, batching", { pairsPerSecond: 10_000, clientCpuUs: 20 }),
    ...twice("uncontended", at100, "raw ioredis", { pairsPerSecond: 5_000, clientCpuUs: 50 }),
    ...twice("round-trips", overNetwork, "holdfast/ioredis", {
      pairsPerSecond: 180,
      clientCpuUs: 400,
      serverCpuUs: 300,
    }),
    ...twice("round-trips", overNetwork, "redlock 4", { pairsPerSecond: 200, clientCpuUs: 350, serverCpuUs: 150 }),
    slice("cold", "1 server", "holdfast/ioredis", 1, { clientCpuUs: 500, firstPairsMs: 260 }),
    slice("cold", "1 server", "redlock 4", 1, { clientCpuUs: 250, firstPairsMs: 130 }),
    slice("contended", "5 processes × 10 workers", "holdfast/ioredis", 1, {
      ...{ locksPerSecond: 600, waitMaxMs: 400, failed: 0 },
    }),
    slice("contended", "5 processes × 10 workers", "holdfast/ioredis", 2, {
      ...{ locksPerSecond: 300, waitMaxMs: 900, failed: 0 },
    }),
    slice("contended", "5 processes × 10 workers", "redis-semaphore, tuned", 1, {
      ...{ locksPerSecond: 200, waitMaxMs: 1_400, failed: 3 },
    }),
    {
      ...slice("contended", "5 processes × 10 workers", "redlock 4", 1),
      error: 'hung: "contend" did not end within 25 s',
    },
    slice("hand-over", "5 servers", "bare", 1, { handOverP50Ms: 1, handOverP99Ms: 2, handOvers: 40 }),
    slice("hand-over", "5 servers", "holdfast/ioredis", 1, { handOverP50Ms: 1.5, handOverP99Ms: 5, handOvers: 40 }),
  ],
};

/** Two rounds over stores, the second on a machine half as fast. */
export const storesRecording: Recording = {
  ...recording,
  command: "pnpm bench stores",
  slices: [
    ...twice("own-names", "synced, 1 at a time", "holdfast/postgres", { pairsPerSecond: 1_000, clientCpuUs: 200 }),
    ...twice("own-names", "synced, 1 at a time", "pg_advisory_lock", { pairsPerSecond: 4_000, clientCpuUs: 50 }),
    slice("two-names", "synced, 16 at a time", "holdfast/sqlite", 1, { pairsPerSecond: 500, serverCpuUs: Number.NaN }),
    { ...slice("two-names", "synced, 16 at a time", "holdfast/etcd", 1), error: "no leader" },
  ],
};

function slice(workload: string, cell: string, contender: string, round: number, figures?: Figures): Slice {
  return { workload, cell, contender, round, othersShare: 0.01, ...(figures && { figures }) };
}

function twice(workload: string, cell: string, contender: string, figures: Figures): Slice[] {
  const { pairsPerSecond = 0, clientCpuUs = 0 } = figures;
  const slow = { ...figures, pairsPerSecond: pairsPerSecond / 2, clientCpuUs: clientCpuUs * 2 };
  return [slice(workload, cell, contender, 1, figures), slice(workload, cell, contender, 2, slow)];
}
