import { createHook } from "node:async_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import type { Client, Release } from "../contenders/contender.ts";
import type { HoldOutcome, HoldRequest } from "./calls.ts";

/** No lock is to end by itself meanwhile. */
const ttlMs = 600_000;
const atOnce = 100;
/** After so long, what acquiring has started is over, and what runs is for holding. */
const restMs = 300;

/** Holds many locks at once, and tells how much memory each takes, with the function that releases it. */
export async function hold(client: Client, { prefix, locks }: HoldRequest): Promise<HoldOutcome> {
  // First some whose memory is not looked at: code is compiled, and buffers grow, when they are first needed.
  const timers = await timersPerLock(client, prefix);
  return { timers, heapBytes: await bytesPerLock(client, prefix, locks) };
}

async function bytesPerLock(client: Client, prefix: string, locks: number): Promise<number> {
  const held: Release[] = [];
  const bytesBefore = await heapBytes();
  while (held.length < locks) {
    const some = Array.from({ length: atOnce }, (_, index) =>
      client.acquire([`${prefix}:${held.length + index}`], ttlMs),
    );
    held.push(...(await Promise.all(some)));
  }
  return ((await heapBytes()) - bytesBefore) / held.length;
}

/** How many timers run for each lock, also those that would not keep the process alive. */
async function timersPerLock(client: Client, prefix: string): Promise<number> {
  const running = new Set<number>();
  const hook = createHook({
    init(id, type) {
      if (type === "Timeout") running.add(id);
    },
    destroy(id) {
      running.delete(id);
    },
  }).enable();
  const keys = Array.from({ length: atOnce }, (_, lock) => [`${prefix}:timers:${lock}`]);
  const held = await Promise.all(keys.map((key) => client.acquire(key, ttlMs)));
  await sleep(restMs);
  const timers = running.size;
  hook.disable();
  await Promise.all(held.map((release) => release()));
  return timers / atOnce;
}

async function heapBytes(): Promise<number> {
  for (let pass = 0; pass < 4; pass++) {
    globalThis.gc?.();
    await sleep(10); // for what is only freed by a callback
  }
  return process.memoryUsage().heapUsed;
}
