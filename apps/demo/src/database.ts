import { ioredisFencedStore, StaleFenceError } from "@holdfast/ioredis";
import type { Redis } from "ioredis";

/**
 * The data that the lock protects: counters. It is separate from the lock nodes, as in a real system. A counter that is
 * shown a token, by reads and writes, refuses to be written with a smaller one, by a `StaleFenceError`.
 */
export interface Database {
  /** Reads a counter: 0 if it was never written. */
  read(counter: string, fence?: number): Promise<number>;
  write(counter: string, value: number, fence?: number): Promise<void>;
}

/** Makes a database in this process. */
export function memoryDatabase(): Database {
  const values = new Map<string, number>();
  const newestFences = new Map<string, number>();
  const show = (action: "read" | "write", counter: string, fence = Infinity): void => {
    const newest = newestFences.get(counter) ?? 0;
    if (fence < newest) throw new StaleFenceError(action, counter, fence, newest);
    if (fence !== Infinity) newestFences.set(counter, fence);
  };
  return {
    async read(counter, fence) {
      show("read", counter, fence);
      return values.get(counter) ?? 0;
    },
    async write(counter, value, fence) {
      show("write", counter, fence);
      values.set(counter, value);
    },
  };
}

const timeoutMs = 10_000;

/** Uses a Redis server. Without a token, a counter is as unprotected as HGET and HSET are. */
export function redisDatabase(client: Redis): Database {
  const store = ioredisFencedStore(client, { timeoutMs });
  return {
    async read(counter, fence) {
      return Number(
        fence === undefined ? await client.hget(counter, "value") : (await store.read(counter, fence)).value,
      );
    },
    async write(counter, value, fence) {
      if (fence === undefined) await client.hset(counter, "value", value);
      else await store.write(counter, String(value), fence);
    },
  };
}
