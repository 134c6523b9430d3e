/** Locks in a single store of any kind. */
import type { StoreName } from "../contenders/contender.ts";
import { inStores } from "../contenders/index.ts";
import type { Figures } from "../measure/measures.ts";
import type { CycleOutcome } from "../process/calls.ts";
import type { Scale } from "../scale.ts";
import { contend, figuresOf as contestFigures, settledLocksOf } from "./contended.ts";
import { figuresOf as cycleFigures } from "./uncontended.ts";
import { type Cell, callTimeoutMs, prepare, type SliceContext, type Workload } from "./workload.ts";

const cycleColumns = ["pairsPerSecond", "pairP50Ms", "pairP99Ms", "clientCpuUs", "serverCpuUs", "failed"] as const;
const contestColumns = ["locksPerSecond", "waitP50Ms", "waitP99Ms", "waitMaxMs", "jainWorkers"] as const;
const overheadMs = 250; // to connect, settle, and read what the server used
const cycleEstimateMs = ({ sliceMs, settleMs }: Scale): number => sliceMs + settleMs + overheadMs;
const contestEstimateMs = ({ contestMs }: Scale): number => contestMs + 2 * overheadMs;

const everyContender = { contenders: inStores, quickContenders: inStores.map(({ name }) => name) };
const holdfastInStores = inStores.filter(({ role }) => role === "holdfast");

export const ownNames: Workload = {
  ...{ name: "own-names", title: "Names that nobody else wants", ...everyContender },
  description: "One process acquires and releases names that no other client wants, at full speed.",
  cells: cellsOf([1, 16], (context, isSynced, atATime) => cycle(context, isSynced, atATime, 1)),
  columns: cycleColumns,
  estimateMs: cycleEstimateMs,
};

export const oneName: Workload = {
  ...{ name: "one-name", title: "One name that all workers want", ...everyContender },
  description:
    "The workers of two processes acquire the same name, hold it for a millisecond, release it, and want it again at once. " +
    "`SET NX` and proper-lockfile do not wait: they try again every 10 ms. The worker that has just released the lock then " +
    "usually gets it again at once, so that most waits are short, and the others long.",
  cells: cellsOf([2, 16], contest),
  columns: [...contestColumns, "clientCpuUs", "serverCpuUs", "failed"],
  estimateMs: contestEstimateMs,
};

export const twoNames: Workload = {
  ...{ name: "two-names", title: "Two names in one lock", contenders: holdfastInStores },
  quickContenders: holdfastInStores.map(({ name }) => name),
  description: "As with names that nobody else wants, but each lock covers two of them.",
  cells: cellsOf([1, 16], (context, isSynced, atATime) => cycle(context, isSynced, atATime, 2)),
  columns: cycleColumns,
  estimateMs: cycleEstimateMs,
};

function cellsOf(
  locksAtATime: readonly number[],
  measure: (context: SliceContext, isSynced: boolean, atATime: number) => Promise<Figures>,
): Cell[] {
  return [true, false].flatMap((isSynced) =>
    locksAtATime.map((atATime) => ({
      ...{ servers: 1, atATime, isQuick: atATime === 16 },
      name: `${isSynced ? "synced" : "not synced"}, ${atATime} at a time`,
      measure: (context) => measure(context, isSynced, atATime),
    })),
  );
}

/**
 * All slices lock the same names. For a new name, a store creates a row or a key, which takes longer; most names in use are
 * not new.
 */
const keyPrefix = "bench";

async function cycle(context: SliceContext, isSynced: boolean, workers: number, keysPerLock: number): Promise<Figures> {
  const { scale } = context;
  const process = context.process(0);
  const run = (durationMs: number): Promise<CycleOutcome> =>
    process.call("cycle", durationMs + callTimeoutMs, { keyPrefix, keysPerLock, workers, durationMs });
  const store = await context.stores.get(storeOf(context), isSynced);
  await prepare(context, [store.address], [process], run);
  await run(scale.settleMs);
  const beforeUs = store.cpuUs();
  const outcome = await run(scale.sliceMs);
  return cycleFigures(outcome, store.cpuUs() - beforeUs);
}

async function contest(context: SliceContext, isSynced: boolean, workers: number): Promise<Figures> {
  const processes = [context.process(0), context.process(1)];
  const contendFor = (key: string, durationMs: number) =>
    contend(processes, key, workers / processes.length, durationMs);
  const store = await context.stores.get(storeOf(context), isSynced);
  await prepare(context, [store.address], processes, (ms) => contendFor(`${context.keyPrefix}:warm-up`, ms));
  const beforeUs = store.cpuUs();
  const outcomes = await contendFor(context.keyPrefix, context.scale.contestMs);
  const serverUs = store.cpuUs() - beforeUs;
  const locks = settledLocksOf(outcomes);
  return { ...contestFigures(outcomes), ...(locks > 0 && { serverCpuUs: serverUs / locks }) };
}

function storeOf({ contender }: SliceContext): StoreName {
  if (contender.store === "memory") throw new TypeError(`${contender.name} uses no store`);
  return contender.store;
}
