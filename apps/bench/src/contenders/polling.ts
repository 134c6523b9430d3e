import { setTimeout as sleep } from "node:timers/promises";
import type { Connect } from "./contender.ts";
import { overIoredis } from "./raw.ts";

/** How often a held lock is tried again where the way to lock has no waiting of its own. */
export const pollMs = 10;
const waitMs = 10_000;

/** `SET key value PX ttl NX` until it succeeds, and later a script that compares and deletes. */
export const connect: Connect = async (ports, settings) => {
  const client = await overIoredis(ports, settings);
  return {
    async acquire(key) {
      for (const endMs = performance.now() + waitMs; ; await sleep(pollMs)) {
        try {
          return await client.acquire(key);
        } catch (error) {
          if (performance.now() > endMs) throw error;
        }
      }
    },
    close: () => client.close(),
  };
};
