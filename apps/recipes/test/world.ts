import { type RedisServer, startRedisServer } from "@holdfast/testkit";
import { Redis } from "ioredis";
import { onTestFinished } from "vitest";
import { type Locks, openLocks } from "../src/locks.ts";

/** Three real lock servers, and a fourth for the data. They stop at the end of the test. */
export interface World {
  readonly lockServers: readonly RedisServer[];
  /** Their addresses, in the format of the fixtures. */
  readonly lockUrls: string;
  readonly dataUrl: string;
  readonly data: Redis;
  /** Returns the locks on the lock servers whose names begin with this. */
  locksLeft(prefix?: string): Promise<string[]>;
}

export async function startWorld(): Promise<World> {
  const servers = await Promise.all(Array.from({ length: 4 }, () => startRedisServer()));
  onTestFinished(async () => {
    await Promise.all(servers.map((server) => server.stop()));
  });
  const [dataServer, ...lockServers] = servers as [RedisServer, ...RedisServer[]];
  const data = new Redis(dataServer.url);
  data.on("error", () => {});
  onTestFinished(() => data.disconnect());
  return {
    lockServers,
    lockUrls: lockServers.map(({ url }) => url).join(","),
    dataUrl: dataServer.url,
    data,
    async locksLeft(prefix = "") {
      const keys = await Promise.all(lockServers.map((server) => server.command("KEYS", `lock:${prefix}*`)));
      return keys.flat().map(String);
    },
  };
}

/** Opens locks in the test's own process, until the end of the test. Node timeouts are long, for busy machines. */
export function openTestLocks({ lockUrls }: World, options?: Parameters<typeof openLocks>[1]): Locks {
  const locks = openLocks(lockUrls.split(","), { nodeTimeoutMs: 2_000, ...options });
  onTestFinished(() => locks.close());
  return locks;
}
