import { setTimeout as sleep } from "node:timers/promises";
import { handingOver as contenders } from "../contenders/index.ts";
import type { Figures } from "../measure/measures.ts";
import { quantileOf } from "../measure/statistics.ts";
import type { MeasuredProcess } from "../process-pool.ts";
import { contend } from "./contended.ts";
import { type Cell, callTimeoutMs, prepare, type SliceContext, type Workload } from "./workload.ts";

const servers = 5;
/** Long enough that the waiter waits as in the long run, and at a random moment between two polls. */
const holdMinMs = 15;
const holdMsSpan = 30;

export const handOver: Workload = {
  name: "hand-over",
  title: "From one process to the next",
  description:
    "One process holds the lock and another waits for it; then they change places. The figure is the time from the call of " +
    "release in the one to the lock in the other. The reference “bare” uses no library: on each server, a script releases " +
    "and publishes, and the waiter claims when a majority of the messages has arrived.",
  contenders,
  quickContenders: ["holdfast/ioredis", "holdfast/node-redis", "redis-semaphore", "bare"],
  cells: [cellOf(), cellOf(20)],
  columns: ["handOverP50Ms", "handOverP99Ms", "handOvers"],
  against: "bare",
  roundsMax: 3,
  estimateMs: ({ handOvers, handOverMs }) => Math.min(handOverMs, handOvers * (holdMinMs + holdMsSpan / 2 + 5)) + 500,
};

function cellOf(roundTripMs?: number): Cell {
  return {
    ...{ servers, atATime: 2, isQuick: roundTripMs === undefined, ...(roundTripMs !== undefined && { roundTripMs }) },
    name: roundTripMs === undefined ? "5 servers" : `5 servers, round trips of ${roundTripMs} ms`,
    measure: (context) => measure(context, roundTripMs),
  };
}

async function measure(context: SliceContext, roundTripMs?: number): Promise<Figures> {
  const { scale, keyPrefix } = context;
  const pair: [MeasuredProcess, MeasuredProcess] = [context.process(0), context.process(1)];
  const place = await context.servers.at(servers, roundTripMs);
  await prepare(context, place, pair, (durationMs) => contend(pair, `${keyPrefix}:warm-up`, 1, durationMs));
  const tookMs: number[] = [];
  const endMs = performance.now() + scale.handOverMs;
  let [holder, waiter] = pair;
  await acquire(context, holder);
  while (tookMs.length < scale.handOvers && performance.now() < endMs) {
    tookMs.push(await handOverOnce(context, holder, waiter));
    [holder, waiter] = [waiter, holder];
  }
  await holder.call("releaseOne", callTimeoutMs);
  const sorted = tookMs.toSorted((a, b) => a - b);
  return {
    handOverP50Ms: quantileOf(sorted, 0.5),
    handOverP99Ms: quantileOf(sorted, 0.99),
    handOvers: sorted.length,
  };
}

async function handOverOnce(context: SliceContext, holder: MeasuredProcess, waiter: MeasuredProcess): Promise<number> {
  const acquired = acquire(context, waiter);
  acquired.catch(() => {}); // awaited below, unless the release fails first
  await sleep(holdMinMs + Math.random() * holdMsSpan);
  const releasedAtMs = await holder.call("releaseOne", callTimeoutMs);
  return (await acquired) - releasedAtMs;
}

function acquire({ keyPrefix }: SliceContext, process: MeasuredProcess): Promise<number> {
  return process.call("acquireOne", callTimeoutMs, keyPrefix);
}
