import { setTimeout as sleep } from "node:timers/promises";
import { type RedisServer, startRedisServer } from "@holdfast/testkit";
import type { Findings } from "../findings.ts";
import { startWorker, type Worker } from "./crew.ts";
import { hows } from "./messages.ts";
import { createReferee, type Referee } from "./referee.ts";
import { claimsLeft, connectionsLeft, describeClaims, keysThatStay, subscriptionsLeft } from "./traces.ts";

const serverCount = 5;
const workerCount = 2;

/** A call that may wait for ever hangs when it has waited for so long, in milliseconds. */
const hangMs = 20_000;

/** How long what is under way may take to end, in milliseconds: it waits for nobody but others that end, too. */
const drainMs = 30_000;

/** Code that is compiled late and the caches of the clients take some, whatever the time. */
const growthMaxMb = 3;

/**
 * Has programs in several processes wait for overlapping sets of resources over real servers, and looks at what that
 * leaves behind.
 */
export async function stressWaiting(durationMs: number, seed: number): Promise<Findings> {
  const servers = await Promise.all(Array.from({ length: serverCount }, () => startRedisServer()));
  const referee = createReferee();
  const failures: string[] = [];
  const workers: Worker[] = [];
  try {
    const order = { urls: servers.map(({ url }) => url) };
    const listener = {
      onReport: referee.note,
      onFailed: (program: string, message: string) => void failures.push(`${program} failed with ${message}`),
    };
    for (let number = 1; number <= workerCount; number++) {
      workers.push(await startWorker({ ...order, name: `w${number}`, seed: seed + number }, listener));
    }
    const findings = await stress(durationMs, { servers, workers, referee });
    return {
      ...findings,
      problems: [...referee.problems.slice(0, 10), ...failures.slice(0, 10), ...findings.problems],
    };
  } finally {
    for (const worker of workers) worker.kill();
    await Promise.all(servers.map((server) => server.stop()));
  }
}

interface Stage {
  readonly servers: readonly RedisServer[];
  readonly workers: readonly Worker[];
  readonly referee: Referee;
}

async function stress(durationMs: number, stage: Stage): Promise<Findings> {
  const { servers, workers, referee } = stage;
  const lines = (): string[] => describeTally(referee);
  const heaps: number[][] = [];
  const problems: string[] = [];
  for (const share of [0.4, 0.6]) {
    const hang = await workFor(durationMs * share, stage);
    if (hang.length > 0) return { lines: lines(), problems: [...hang, ...(await describeClaims(servers))] };
    problems.push(...named("claims are left", await claimsLeft(servers)));
    problems.push(...named("subscriptions are left", await subscriptionsLeft(servers)));
    heaps.push(await Promise.all(workers.map(heapOf)));
  }
  problems.push(...named("keys stay", await keysThatStay(servers)));
  for (const worker of workers) problems.push(...(await closeWorker(worker)));
  problems.push(...named("connections are left", await connectionsLeft(servers)));
  const grownMb = (heaps[1] as number[]).map((heapMb, worker) => heapMb - (heaps[0]?.[worker] as number));
  if (Math.max(...grownMb) > growthMaxMb)
    problems.push(`the heap of a worker has grown by more than ${growthMaxMb} MB`);
  const { locks, gaveUp, nested, several } = referee.tally;
  const counts = [...hows.map((how) => locks[how]), gaveUp, nested, several];
  if (counts.includes(0)) problems.push("something was never done");
  const growth = grownMb.map((mb) => `${mb.toFixed(1)} MB`).join(" and ");
  return {
    lines: [...lines(), `heap        grown by ${growth} since the first drain (at most ${growthMaxMb} MB)`],
    problems,
  };
}

/** Lets all programs work for so long, and then end. Resolves with who waits for what, if that is for ever. */
async function workFor(ms: number, { workers, referee }: Stage): Promise<string[]> {
  const drained = Promise.all(workers.map((worker) => worker.hear("drained", ms + hangMs + drainMs)));
  const ended = drained.then(
    () => true,
    () => false,
  );
  for (const worker of workers) worker.tell({ kind: "work" });
  const stopMs = performance.now() + ms;
  const endMs = stopMs + drainMs;
  let isStopping = false;
  for (;;) {
    const nowMs = performance.now();
    if (!isStopping && nowMs >= stopMs) {
      isStopping = true;
      for (const worker of workers) worker.tell({ kind: "stop" });
    }
    const isDrained = await Promise.race([ended, sleep(isStopping ? 100 : Math.min(100, stopMs - nowMs), undefined)]);
    if (isDrained === true) return [];
    const sinceMs = referee.waits[0]?.sinceMs ?? Infinity;
    const isHung = performance.now() - sinceMs > hangMs;
    if (isDrained === false || isHung || performance.now() > endMs) {
      drained.catch(() => {});
      return ["programs hang", ...referee.describeWaits()];
    }
  }
}

async function heapOf(worker: Worker): Promise<number> {
  const measured = worker.hear("measured", drainMs);
  worker.tell({ kind: "measure" });
  return (await measured).heapMb;
}

/** Has a worker close everything. It must then exit by itself. */
async function closeWorker(worker: Worker): Promise<string[]> {
  const closed = worker.hear("closed", drainMs);
  worker.tell({ kind: "close" });
  const { left } = await closed;
  const problems = named(`handles are left in ${worker.name}`, [...new Set(left)]);
  if (!(await worker.exits(5_000))) problems.push(`${worker.name} did not exit by itself`);
  return problems;
}

function named(what: string, found: readonly string[]): string[] {
  return found.length > 0 ? [`${what}: ${found.slice(0, 10).join(", ")}`] : [];
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
