import type { Figures } from "../src/measure/measures.ts";
import type { Recording, Turn } from "../src/record.ts";

const at100 = "5 nodes, 100 at a time";

/** What might have been recorded in two rounds, the second of them on a machine half as fast. */
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
  turns: [
    ...twice("uncontended", at100, "holdfast/ioredis", { opsPerSecond: 30_000, clientCpuUs: 10 }),
    ...twice("uncontended", at100, "redlock 5 beta", { opsPerSecond: 4_000, clientCpuUs: 100 }),
    ...twice("uncontended", at100, "redis-semaphore", { opsPerSecond: 3_000, clientCpuUs: 120 }),
    ...twice("uncontended", at100, "raw ioredis", { opsPerSecond: 5_000, clientCpuUs: 50 }),
    turn("contended", "5 processes × 10 workers", "holdfast/ioredis", 1, {
      locksPerSecond: 600,
      waitMaxMs: 400,
      failed: 0,
    }),
    turn("contended", "5 processes × 10 workers", "holdfast/ioredis", 2, {
      locksPerSecond: 300,
      waitMaxMs: 900,
      failed: 0,
    }),
    turn("contended", "5 processes × 10 workers", "redlock 4, tuned", 1, {
      locksPerSecond: 200,
      waitMaxMs: 1_400,
      failed: 3,
    }),
    {
      ...turn("contended", "5 processes × 10 workers", "redlock 4", 1),
      error: 'hung: no end of "contend" within 25 s',
    },
    turn("growth-nodes", "1", "holdfast/ioredis", 1, { opsPerSecond: 50_000, clientCpuUs: 5 }),
    turn("growth-nodes", "15", "holdfast/ioredis", 1, { opsPerSecond: 9_000, clientCpuUs: 30 }),
  ],
};

function turn(workload: string, place: string, contender: string, round: number, figures?: Figures): Turn {
  return { workload, case: place, contender, round, ...(figures && { figures }) };
}

function twice(workload: string, place: string, contender: string, figures: Figures): Turn[] {
  const { opsPerSecond = 0, clientCpuUs = 0 } = figures;
  const slow = { opsPerSecond: opsPerSecond / 2, clientCpuUs: clientCpuUs * 2 };
  return [turn(workload, place, contender, 1, figures), turn(workload, place, contender, 2, slow)];
}
