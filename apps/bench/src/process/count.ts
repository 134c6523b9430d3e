import { createHook } from "node:async_hooks";
import type { Client } from "../contenders/contender.ts";
import { watchSent } from "../measure/sent.ts";

interface CountRequest {
  readonly keyPrefix: string;
  /** How many locks are acquired in one tick, and released in one. */
  readonly atOnce: number;
  readonly times: number;
}

/** Counts what a lock costs, without the cost of counting. The counts do not depend on the speed of the machine. */
export async function count(client: Client, request: CountRequest) {
  const overhead = await countWith(noClient, request);
  const all = await countWith(client, request);
  return { ...all, promises: all.promises - overhead.promises };
}

const done = Promise.resolve();
const granted = Promise.resolve(() => done);
const noClient: Client = { acquire: () => granted, close: () => {} };

async function countWith(client: Client, { keyPrefix, atOnce, times }: CountRequest) {
  const keys = Array.from({ length: atOnce }, (_, lock) => `${keyPrefix}:${lock}`);
  const lockAll = async (): Promise<void> => {
    const releases = await Promise.all(keys.map((key) => client.acquire(key)));
    await Promise.all(releases.map((release) => release()));
  };
  const made = { Timeout: 0, PROMISE: 0 };
  const hook = createHook({
    init(_id, type) {
      if (type in made) made[type as keyof typeof made] += 1;
    },
  });
  const sent = watchSent();
  hook.enable();
  for (let time = 0; time < times; time++) await lockAll();
  hook.disable();
  return { locks: atOnce * times, ...sent(), timers: made.Timeout, promises: made.PROMISE };
}
