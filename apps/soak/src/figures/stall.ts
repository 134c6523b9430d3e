import { setTimeout as sleep } from "node:timers/promises";
import { Redlock } from "@holdfast/core";
import { openNodes } from "./nodes.ts";
import type { Crowd, Figures, ServerAddress } from "./plan.ts";

const crowdSize = 10_000;
const patienceMs = 4_000;

/** The observation time when locks follow each other one by one, in milliseconds. */
const lookMs = 8_000;

/** Measures the longest stall of the event loop since the last `reset`. */
export class Heartbeat {
  #longestMs = 0;
  #lastMs = performance.now();
  readonly #timer = setInterval(() => this.#beat(), 1);

  get longestMs(): number {
    this.#beat();
    return this.#longestMs;
  }

  reset(): void {
    this.#longestMs = 0;
    this.#lastMs = performance.now();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #beat(): void {
    const nowMs = performance.now();
    this.#longestMs = Math.max(this.#longestMs, nowMs - this.#lastMs);
    this.#lastMs = nowMs;
  }
}

/** Ends the waits of a crowd, and measures the effect on the event loop and on an unrelated lock. */
export async function measureStall(crowd: Crowd, servers: readonly ServerAddress[]): Promise<Figures> {
  const bystander = new Redlock(await openNodes(servers), { ttlMs: 1_000 });
  const redlock = new Redlock(await openNodes(servers), { maxWaiters: 50_000, ttlMs: 60_000, waitTimeoutMs: Infinity });
  const other = await bystander.acquire("bystander", { autoExtend: true });
  const hot = await redlock.acquire("hot");
  const heartbeat = new Heartbeat();
  const leaving = new AbortController();
  const sets =
    crowd === "sets"
      ? [...repeat(1_000, ["hot", "i", "j"]), ...repeat(1_000, ["hot", "i"])]
      : Array.from({ length: crowdSize }, (_, index) => ["hot", `x${index}`]);
  const options = { "time-outs": { waitTimeoutMs: patienceMs }, aborts: { signal: leaving.signal } }[crowd as string];
  const startedAtMs = performance.now();
  let locks = 0;
  const calls = sets.map(async (resources) => {
    const lock = await redlock.acquire(resources, options).catch(() => undefined);
    if (lock === undefined) return;
    locks += 1;
    await lock.release();
  });
  const all = Promise.all(calls);
  const joinMs = performance.now() - startedAtMs;
  await sleep(crowd === "time-outs" ? patienceMs / 2 : 1_000);
  heartbeat.reset();
  if (crowd === "aborts") leaving.abort();
  const isGivingUp = crowd === "aborts" || crowd === "time-outs";
  if (!isGivingUp) await hot.release();
  const look = new AbortController();
  await Promise.race([all, isGivingUp ? all : sleep(lookMs, undefined, look)]);
  look.abort();
  await sleep(20);
  const lost = other.signal.aborted ? 1 : 0;
  return { stall: heartbeat.longestMs, join: joinMs, lost, locks };
}

function repeat<T>(times: number, value: T): T[] {
  return Array.from({ length: times }, () => value);
}
