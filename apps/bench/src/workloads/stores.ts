/** Locks in a single store of any kind. */
import type { StoreName } from "../contenders/contender.ts";
import { inStores } from "../contenders/index.ts";
import type { Figures } from "../measure/measures.ts";
import type { Scale } from "../scale.ts";
import type { Place } from "../servers.ts";
import { contest, figuresOf } from "./contended.ts";
import { cycle } from "./uncontended.ts";
import type { Cell, SliceContext, Workload } from "./workload.ts";

const cycleColumns = ["pairsPerSecond", "pairP50Ms", "pairP99Ms", "clientCpuUs", "serverCpuUs", "failed"] as const;
const contestColumns = ["locksPerSecond", "waitP50Ms", "waitP99Ms", "waitMaxMs", "jainWorkers"] as const;
const overheadMs = 250; // to connect, settle, and read what the server used
const cycleEstimateMs = ({ sliceMs, settleMs }: Scale): number => sliceMs + settleMs + overheadMs;
const contestEstimateMs = ({ contestMs }: Scale): number => contestMs + 2 * overheadMs;

/**
 * All slices lock the same names. For a new name, a store creates a row or a key, which takes longer; most names in use are
 * not new.
 */
const keyPrefix = "bench";

const everyContender = { contenders: inStores, quickContenders: inStores.map(({ name }) => name) };
const holdfastInStores = inStores.filter(({ role }) => role === "holdfast");

export const ownNames: Workload = {
  ...{ name: "own-names", title: "Names that nobody else wants", ...everyContender },
  description: "One process acquires and releases names that no other client wants, at full speed.",
  cells: cycles(1),
  columns: cycleColumns,
  estimateMs: cycleEstimateMs,
};

export const oneName: Workload = {
  ...{ name: "one-name", title: "One name that all workers want", ...everyContender },
  description:
    "The workers of two processes acquire the same name, hold it for a millisecond, release it, and want it again at once. " +
    "`SET NX`, the row lease and proper-lockfile do not wait: they try again every 10 ms. The worker that has just released the lock then " +
    "usually gets it again at once, so that most waits are short, and the others long.",
  cells: cellsOf([2, 16], contestInStore),
  columns: [...contestColumns, "clientCpuUs", "serverCpuUs", "failed"],
  estimateMs: contestEstimateMs,
};

export const twoNames: Workload = {
  ...{ name: "two-names", title: "Two names in one lock", contenders: holdfastInStores },
  quickContenders: holdfastInStores.map(({ name }) => name),
  description: "As with names that nobody else wants, but each lock covers two of them.",
  cells: cycles(2),
  columns: cycleColumns,
  estimateMs: cycleEstimateMs,
};

function cycles(keysPerLock: number): Cell[] {
  return cellsOf([1, 16], (context, store, workers) => cycle(context, store, { keyPrefix, keysPerLock, workers }));
}

async function contestInStore(context: SliceContext, store: Place, atATime: number): Promise<Figures> {
  const { outcomes, locks, cpuUs } = await contest(context, store, 2, atATime / 2);
  return { ...figuresOf(outcomes), ...(locks > 0 && { serverCpuUs: cpuUs / locks }) };
}

function cellsOf(
  locksAtATime: readonly number[],
  measure: (context: SliceContext, store: Place, atATime: number) => Promise<Figures>,
): Cell[] {
  return [true, false].flatMap((isSynced) =>
    locksAtATime.map((atATime) => ({
      ...{ servers: 1, atATime, isQuick: atATime === 16 },
      name: `${isSynced ? "synced" : "not synced"}, ${atATime} at a time`,
      async measure(context) {
        return measure(context, await context.stores(context.contender.store as StoreName, isSynced), atATime);
      },
    })),
  );
}
