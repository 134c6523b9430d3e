import { setTimeout as sleep } from "node:timers/promises";
import { startWorkerProcess, type WorkerProcess } from "@holdfast/app-kit/worker-process";
import type { RedisServer } from "@holdfast/testkit";
import { bundleProgram } from "@holdfast/testkit/bundle-program";
import type { Cleanup } from "@holdfast/testkit/cleanup";
import { startServers } from "../world/servers.ts";
import { type Findings, growthMaxMb, problem } from "./leftovers.ts";
import { hows, type ParentFunctions } from "./messages.ts";
import { createReferee, type Referee } from "./referee.ts";
import { describeClaims, tracesLeft } from "./traces.ts";
import type { StressFunctions } from "./worker.ts";

type Worker = WorkerProcess<StressFunctions>;

const program = new URL("./worker.ts", import.meta.url);
const startTimeoutMs = 60_000;

const serverCount = 5;
const workerCount = 2;

/** A call without a time limit counts as hung after this wait, in milliseconds. */
const hangMs = 20_000;

/** How long the programs may take to end, in milliseconds. They wait only for others that end, too. */
const drainMs = 30_000;

/** How long a closed worker may take to exit, in milliseconds. */
const exitMs = 5_000;

/**
 * Lets programs in several processes wait for overlapping sets of resources on real servers, and checks that they leave
 * nothing behind.
 */
export async function stressWaiting(durationMs: number, seed: number, cleanup: Cleanup): Promise<Findings> {
  const servers = await startServers(serverCount, cleanup);
  const referee = createReferee();
  const failures: string[] = [];
  const workers: Worker[] = [];
  const events: ParentFunctions = {
    note: (report) => referee.note(report),
    fail: (program, message) => void failures.push(`${program} failed with ${message}`),
  };
  for (let number = 1; number <= workerCount; number++) {
    const name = `w${number}`;
    const worker = startWorkerProcess<StressFunctions>(await bundleProgram(program), { name, events });
    cleanup.defer(worker.stop);
    workers.push(worker);
    const urls = servers.map(({ url }) => url);
    await worker.call("open", startTimeoutMs, { name, urls, seed: seed + number });
  }
  const { lines, problems } = await stress(durationMs, { servers, workers, referee });
  return {
    lines: [...describeTally(referee), ...lines],
    problems: [...referee.problems.slice(0, 10), ...failures.slice(0, 10), ...problems],
  };
}

interface Stage {
  readonly servers: readonly RedisServer[];
  readonly workers: readonly Worker[];
  readonly referee: Referee;
}

async function stress(durationMs: number, stage: Stage): Promise<Findings> {
  const { servers, workers, referee } = stage;
  const heaps: number[][] = [];
  const problems: string[] = [];
  for (const share of [0.4, 0.6]) {
    const hang = await workFor(durationMs * share, stage);
    if (hang.length > 0) return { lines: [], problems: [...hang, ...(await describeClaims(servers))] };
    problems.push(...(await tracesLeft("claims are left", servers)));
    problems.push(...(await tracesLeft("subscriptions are left", servers)));
    heaps.push(await Promise.all(workers.map((worker) => worker.call("heapMb", drainMs))));
  }
  problems.push(...(await tracesLeft("keys stay", servers)));
  for (const worker of workers) problems.push(...(await closeWorker(worker)));
  problems.push(...(await tracesLeft("connections are left", servers)));
  const grownMb = (heaps[1] as number[]).map((heapMb, worker) => heapMb - (heaps[0]?.[worker] as number));
  if (Math.max(...grownMb) > growthMaxMb)
    problems.push(`the heap of a worker has grown by more than ${growthMaxMb} MB`);
  const { locks, gaveUp, nested, several } = referee.tally;
  if ([...hows.map((how) => locks[how]), gaveUp, nested, several].includes(0))
    problems.push("something was never done");
  const growth = grownMb.map((mb) => `${mb.toFixed(1)} MB`).join(" and ");
  return { lines: [`heap        grown by ${growth} since the first drain (at most ${growthMaxMb} MB)`], problems };
}

/** Lets all programs work for that time, and then end. If they hang, resolves with a description of all waits. */
async function workFor(ms: number, { workers, referee }: Stage): Promise<string[]> {
  const drained = Promise.all(workers.map((worker) => worker.call("work", ms + hangMs + drainMs)));
  const ended = drained.then(
    () => true,
    () => false,
  );
  const stopMs = performance.now() + ms;
  const endMs = stopMs + drainMs;
  let isStopping = false;
  for (;;) {
    const nowMs = performance.now();
    if (!isStopping && nowMs >= stopMs) {
      isStopping = true;
      await Promise.all(workers.map((worker) => worker.call("stop", drainMs)));
    }
    const isDrained = await Promise.race([ended, sleep(isStopping ? 100 : Math.min(100, stopMs - nowMs), undefined)]);
    if (isDrained === true) return [];
    const sinceMs = referee.waits[0]?.sinceMs ?? Infinity;
    const isHung = performance.now() - sinceMs > hangMs;
    if (isDrained === false || isHung || performance.now() > endMs) {
      return ["programs hang", ...referee.describeWaits()];
    }
  }
}

/** Lets a worker close everything. The process must then exit on its own. */
async function closeWorker(worker: Worker): Promise<string[]> {
  const problems = problem(`handles are left in ${worker.name}`, await worker.call("close", drainMs));
  const code = await Promise.race([worker.ended, sleep(exitMs)]);
  return code === 0 ? problems : [...problems, `${worker.name} did not exit on its own`];
}

function describeTally({ tally }: Referee): string[] {
  const { locks, gaveUp, nested, several, longestWaitMs } = tally;
  const sum = hows.reduce((total, how) => total + locks[how], 0);
  return [
    `waiting     ${sum.toLocaleString("en")} locks, ${several} of several resources, ${nested} nested; ${gaveUp} calls gave up`,
    `            ${hows.map((how) => `${locks[how]} by ${how}`).join(", ")}`,
    `            the longest wait without a limit took ${(longestWaitMs / 1_000).toFixed(2)} s`,
  ];
}
