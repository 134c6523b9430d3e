import { setTimeout as sleep } from "node:timers/promises";
import type { Client, Release } from "../contenders/contender.ts";
import type { HoldOutcome, HoldRequest } from "./calls.ts";

/** No lock is to end by itself meanwhile. */
const ttlMs = 600_000;
const atOnce = 100;

/** Holds many locks at once, and tells how much memory each takes, with the function that releases it. */
export async function hold(client: Client, { prefix, locks }: HoldRequest): Promise<HoldOutcome> {
  const held: Release[] = [];
  // First some that do not count: code is compiled, and buffers grow, when they are first needed.
  for (let lock = 0; lock < atOnce; lock++) await (await client.acquire([`${prefix}:warm-up:${lock}`], ttlMs))();
  const bytesBefore = await heapBytes();
  const timersBefore = timers();
  while (held.length < locks) {
    const some = Array.from({ length: atOnce }, (_, index) =>
      client.acquire([`${prefix}:${held.length + index}`], ttlMs),
    );
    held.push(...(await Promise.all(some)));
  }
  return {
    heapBytes: ((await heapBytes()) - bytesBefore) / held.length,
    timers: (timers() - timersBefore) / held.length,
  };
}

async function heapBytes(): Promise<number> {
  for (let pass = 0; pass < 4; pass++) {
    globalThis.gc?.();
    await sleep(10); // for what is only freed by a callback
  }
  return process.memoryUsage().heapUsed;
}

function timers(): number {
  return process.getActiveResourcesInfo().filter((kind) => kind === "Timeout").length;
}
