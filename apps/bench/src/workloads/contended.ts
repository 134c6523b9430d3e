import { contended as contenders } from "../contenders/index.ts";
import type { Figures } from "../measure/measures.ts";
import { jainOf, quantileOf } from "../measure/statistics.ts";
import type { ContendOutcome } from "../process/calls.ts";
import type { MeasuredProcess } from "../process-pool.ts";
import { type Cell, callTimeoutMs, countOf, prepareAtServers, type SliceContext, type Workload } from "./workload.ts";

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

function cellOf(processes: number, workers: number, isQuick: boolean): Cell {
  return {
    ...{ servers, isQuick, atATime: processes * workers },
    name: `${countOf(processes, "process", "processes")} × ${workers} workers`,
    measure: (context) => measure(context, processes, workers),
  };
}

async function measure(context: SliceContext, count: number, workers: number): Promise<Figures> {
  const { scale, keyPrefix } = context;
  const processes = Array.from({ length: count }, (_, number) => context.process(number));
  const work = (durationMs: number) => contend(processes, `${keyPrefix}:warm-up`, workers, durationMs);
  await prepareAtServers(context, { servers }, processes, work);
  const outcomes = await contend(processes, keyPrefix, workers, scale.contestMs);
  const commands = sum(outcomes, (outcome) => outcome.commands);
  const settled = settledLocksOf(outcomes);
  return { ...figuresOf(outcomes), ...(settled > 0 && { commandsPerNode: commands / settled / servers }) };
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
export function settledLocksOf(outcomes: readonly ContendOutcome[]): number {
  return sum(outcomes, ({ settledLocks }) => settledLocks);
}

function sum(outcomes: readonly ContendOutcome[], of: (outcome: ContendOutcome) => number): number {
  return outcomes.reduce((all, one) => all + of(one), 0);
}
