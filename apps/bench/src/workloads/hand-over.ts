import { setTimeout as sleep } from "node:timers/promises";
import { contended as contenders } from "../contenders/index.ts";
import type { Worker } from "../crew.ts";
import type { Figures } from "../measure/measures.ts";
import { quantileOf } from "../measure/statistics.ts";
import { ttlMs } from "../process/calls.ts";
import { warmUpTogether } from "./contest.ts";
import { type Case, opened, patienceMs, type Stage, type Workload } from "./workload.ts";

/** Long enough that the other waits as it does in the long run, and at a random moment of its pauses. */
const holdMsMin = 15;
const holdMsSpan = 30;
/** In each process. */
const waitersAtWarmUp = 5;

export const handOver: Workload = {
  name: "hand-over",
  title: "From one process to the next",
  description:
    "One process holds the lock and another waits for it. Measured is the time from the call of `release` in the one to " +
    "the lock in the other, by the clock that they share. Then they change places.",
  contenders: contenders.filter(({ spansProcesses }) => spansProcesses),
  quickContenders: ["holdfast/ioredis", "redis-semaphore"],
  cases: [caseOf(0), caseOf(20)],
  columns: ["handOverP50Ms", "handOverP99Ms", "handOvers"],
  layout: "tables",
};

function caseOf(roundTripMs: number): Case {
  return {
    name: roundTripMs === 0 ? "5 nodes" : `5 nodes, round trips of ${roundTripMs} ms`,
    nodes: 5,
    processes: 2,
    isQuick: true,
    run: (stage) => runHandOvers(stage, { nodes: 5, roundTripMs }),
  };
}

async function runHandOvers(stage: Stage, setting: { nodes: number; roundTripMs: number }): Promise<Figures> {
  const { scale, servers } = stage;
  const pair: [Worker, Worker] = [stage.worker(0), stage.worker(1)];
  await servers.empty(setting.nodes);
  return opened(stage, setting, pair, async () => {
    await warmUpTogether(stage, pair, waitersAtWarmUp);
    const tookMs: number[] = [];
    const endMs = performance.now() + scale.handOverMs;
    let [holder, waiter] = pair;
    await acquire(stage, holder);
    while (tookMs.length < scale.handOvers && performance.now() < endMs) {
      tookMs.push(await handOverOnce(stage, holder, waiter));
      [holder, waiter] = [waiter, holder];
    }
    await holder.call("releaseOne", undefined, patienceMs);
    const sorted = tookMs.toSorted((a, b) => a - b);
    return {
      handOverP50Ms: quantileOf(sorted, 0.5),
      handOverP99Ms: quantileOf(sorted, 0.99),
      handOvers: sorted.length,
    };
  });
}

async function handOverOnce(stage: Stage, holder: Worker, waiter: Worker): Promise<number> {
  const acquired = acquire(stage, waiter);
  acquired.catch(() => {}); // awaited below, unless the release fails first
  await sleep(holdMsMin + Math.random() * holdMsSpan);
  const releasedAtMs = await holder.call("releaseOne", undefined, patienceMs);
  return (await acquired) - releasedAtMs;
}

function acquire({ prefix: key }: Stage, worker: Worker): Promise<number> {
  return worker.call("acquireOne", { key, ttlMs }, patienceMs);
}
