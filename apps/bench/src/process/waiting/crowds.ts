import { setTimeout as sleep } from "node:timers/promises";
import { type LockNode, Redlock } from "@holdfast/core";
import type { Figures } from "../../measure/measures.ts";

/** How a crowd of waiters ends. */
export type Crowd = "sets" | "time-outs" | "aborts" | "release";

const crowdSize = 10_000;
const patienceMs = 4_000;

/** The observation time when locks follow each other one by one, in milliseconds. */
const lookMs = 8_000;
const tryCount = 120_000;

/** Ends the waits of a crowd, and measures the effect on the event loop and on an unrelated lock. */
export async function measureStall(crowd: Crowd, openNodes: () => Promise<readonly LockNode[]>): Promise<Figures> {
  const bystander = new Redlock(await openNodes(), { ttlMs: 1_000 });
  const redlock = new Redlock(await openNodes(), { maxWaiters: 50_000, ttlMs: 60_000, waitTimeoutMs: Infinity });
  const other = await bystander.acquire("bystander", { autoExtend: true });
  const hot = await redlock.acquire("hot");
  const leaving = new AbortController();
  const sets =
    crowd === "sets"
      ? [...Array(1_000).fill(["hot", "i", "j"]), ...Array(1_000).fill(["hot", "i"])]
      : Array.from({ length: crowdSize }, (_, index) => ["hot", `x${index}`]);
  const options = { "time-outs": { waitTimeoutMs: patienceMs }, aborts: { signal: leaving.signal } }[crowd as string];
  const calls = sets.map(async (resources) => {
    const lock = await redlock.acquire(resources, options).catch(() => undefined);
    await lock?.release();
  });
  const all = Promise.all(calls);
  await sleep(crowd === "time-outs" ? patienceMs / 2 : 1_000);
  const stallMaxMs = watchStalls();
  if (crowd === "aborts") leaving.abort();
  const isGivingUp = crowd === "aborts" || crowd === "time-outs";
  if (!isGivingUp) await hot.release();
  const look = new AbortController();
  await Promise.race([all, isGivingUp ? all : sleep(lookMs, undefined, look)]);
  look.abort();
  await sleep(20);
  return { stallMaxMs: stallMaxMs(), lostLocks: other.signal.aborted ? 1 : 0 };
}

/** Makes 120,000 calls of `tryAcquire` at once, while a lock is released. */
export async function measureTries(maxWaiters: number, nodes: readonly LockNode[]): Promise<Figures> {
  const redlock = new Redlock(nodes, { maxWaiters, ttlMs: 120_000, nodeTimeoutMs: 30_000 });
  const held = await redlock.acquire("held");
  const startedAtMs = performance.now();
  let refused = 0;
  const tries = Array.from({ length: tryCount }, async (_, index) => {
    try {
      const lock = await redlock.tryAcquire(`k${index}`);
      await lock?.release();
    } catch {
      refused += 1;
    }
  });
  const releasedAtMs = performance.now();
  const release = held.release().then(() => performance.now() - releasedAtMs);
  const [releaseMs] = await Promise.all([release, ...tries]);
  return { tryUs: ((performance.now() - startedAtMs) * 1_000) / tryCount, refused, releaseMs };
}

/** Returns a function that returns the longest stall of the event loop since. */
function watchStalls(): () => number {
  let longestMs = 0;
  let lastMs = performance.now();
  const beat = (): number => {
    const nowMs = performance.now();
    longestMs = Math.max(longestMs, nowMs - lastMs);
    lastMs = nowMs;
    return longestMs;
  };
  setInterval(beat, 1);
  return beat;
}
