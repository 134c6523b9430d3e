import { contended as contenders } from "../contenders/index.ts";
import type { Figures } from "../measure/measures.ts";
import { jainOf, quantileOf } from "../measure/statistics.ts";
import type { ContendOutcome } from "../process/contend.ts";
import type { MeasuredProcess } from "../process-pool.ts";
import type { Place } from "../servers.ts";
import { type Cell, callTimeoutMs, countOf, prepare, type SliceContext, type Workload } from "./workload.ts";

const servers = 5;
/** About the length of a short transaction. */
const holdMs = 1;

export const contended: Workload = {
  name: "contended",
  title: "One lock that all workers want",
  description:
    "Workers acquire the same key on five servers, hold it for a millisecond, release it, and want it again at once. " +
    "Tuned libraries retry every 10 ms (redis-semaphore: 2 ms) for ten seconds. With libraries that poll, the worker that " +
    "has just released the lock usually gets it again at once. Half of the waits are therefore short, and the others long.",
  contenders,
  quickContenders: ["holdfast/ioredis", "redlock 5 beta", "redlock-universal/ioredis"],
  cells: [cellOf(1, 50, true), cellOf(5, 10, false)],
  columns: ["locksPerSecond", "waitP50Ms", "waitP99Ms", "waitMaxMs", "failed", "jainWorkers", "commandsPerNode"],
  roundsMax: 3,
  estimateMs: ({ contestMs, warmUpMs }) => contestMs + warmUpMs / 2 + 1_200,
};

function cellOf(count: number, workers: number, isQuick: boolean): Cell {
  return {
    ...{ servers, isQuick, atATime: count * workers },
    name: `${countOf(count, "process", "processes")} × ${workers} workers`,
    async measure(context) {
      const { outcomes, locks } = await contest(context, await context.servers.at(servers), count, workers);
      const commands = sum(outcomes, (outcome) => outcome.commands);
      return { ...figuresOf(outcomes), ...(locks > 0 && { commandsPerNode: commands / locks / servers }) };
    },
  };
}

/** Lets workers of several processes contend for a name. Resolves with the number of locks, and what servers used, too. */
export async function contest(context: SliceContext, place: Place, count: number, workers: number) {
  const { scale, keyPrefix } = context;
  const processes = Array.from({ length: count }, (_, number) => context.process(number));
  await prepare(context, place, processes, (ms) => contend(processes, `${keyPrefix}:warm-up`, workers, ms));
  const watch = await place.watch();
  const outcomes = await contend(processes, keyPrefix, workers, scale.contestMs);
  const { cpuUs } = await watch();
  return { outcomes, locks: settledLocksOf(outcomes), cpuUs };
}

/** Lets processes contend for a key. */
export function contend(
  processes: readonly MeasuredProcess[],
  key: string,
  workers: number,
  durationMs: number,
): Promise<ContendOutcome[]> {
  const request = { keys: [key], workers, holdMs, durationMs };
  return Promise.all(processes.map((process) => process.call("contend", durationMs + callTimeoutMs, request)));
}

/** The figures of a contest. */
export function figuresOf(outcomes: readonly ContendOutcome[]) {
  const waitsMs = Float64Array.from(outcomes.flatMap((outcome) => outcome.waitsMs)).sort();
  const settled = settledLocksOf(outcomes);
  return {
    locksPerSecond: sum(outcomes, ({ locks, seconds }) => locks.reduce((all, one) => all + one, 0) / seconds),
    waitP50Ms: quantileOf(waitsMs, 0.5),
    waitP99Ms: quantileOf(waitsMs, 0.99),
    waitMaxMs: waitsMs.at(-1) ?? Number.NaN,
    failed: sum(outcomes, ({ failed }) => failed),
    stuck: sum(outcomes, ({ stuck }) => stuck),
    jainWorkers: jainOf(outcomes.flatMap(({ locks }) => locks)),
    ...(settled > 0 && { clientCpuUs: sum(outcomes, ({ cpuUs }) => cpuUs) / settled }),
  } satisfies Figures;
}

/** The number of locks that were acquired and released, those after the end of the contest included. */
function settledLocksOf(outcomes: readonly ContendOutcome[]): number {
  return sum(outcomes, ({ settledLocks }) => settledLocks);
}

function sum(outcomes: readonly ContendOutcome[], of: (outcome: ContendOutcome) => number): number {
  return outcomes.reduce((all, one) => all + of(one), 0);
}
