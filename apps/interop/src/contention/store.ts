import { setTimeout as sleep } from "node:timers/promises";
import { Redis } from "ioredis";

/**
 * Numbers that are changed without any care: read, and written back a little later. Two that change one at the same time
 * lose an update.
 */
export interface Store {
  /** Adds one to a number, the careless way. */
  increment(key: string): Promise<void>;
  /** Shows the fencing token to the store, which remembers it; whether it is larger than any that it was shown before. */
  isNewer(key: string, fence: number): Promise<boolean>;
  /** What the number is now. */
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
