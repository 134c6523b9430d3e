import { setTimeout as sleep } from "node:timers/promises";
import { Redis } from "ioredis";

/**
 * Numbers without any protection: read, and written back a little later. Two clients that change one at the same time lose an
 * update.
 */
export interface Store {
  /** Adds one to a number, without protection. */
  increment(key: string): Promise<void>;
  /** Stores the fencing token. Resolves with whether it is larger than the last one. */
  isNewer(key: string, fence: number): Promise<boolean>;
  /** Returns the number. */
  read(key: string): Promise<number>;
  close(): void;
}

/** Connects to a store on a server of its own. */
export function connectStore(port: number): Store {
  const redis = new Redis({ host: "127.0.0.1", port });
  const numberAt = async (name: string): Promise<number> => Number(await redis.get(name));
  return {
    async increment(key) {
      const number = await numberAt(`number:${key}`);
      await sleep(1);
      await redis.set(`number:${key}`, number + 1);
    },
    async isNewer(key, fence) {
      const last = await numberAt(`fence:${key}`);
      await redis.set(`fence:${key}`, fence);
      return fence > last;
    },
    read: (key) => numberAt(`number:${key}`),
    close: () => redis.disconnect(),
  };
}
