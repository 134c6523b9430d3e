import { type RedisServer, startRedisServer } from "@holdfast/testkit";
import { Redis } from "ioredis";
import { onTestFinished } from "vitest";
import { openLocks } from "../src/locks.ts";

/** Three real lock servers, and a fourth that keeps the data. They are stopped when the test has finished. */
export interface World {
  readonly lockServers: readonly RedisServer[];
  /** Their addresses, as the fixtures take them. */
  readonly lockUrls: string;
  readonly dataUrl: string;
  readonly data: Redis;
  /** What the lock servers keep of locks; empty when nothing is held. */
  locksLeft(): Promise<string[]>;
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
    async locksLeft() {
      const keys = await Promise.all(lockServers.map((server) => server.command("KEYS", "lock:*")));
      return keys.flat().map(String);
    },
  };
}

/** Locks of the test's own process, closed when the test has finished. They give a busy machine time to answer. */
export async function openTestLocks(
  { lockUrls }: World,
  options?: Parameters<typeof openLocks>[1],
): ReturnType<typeof openLocks> {
  const locks = await openLocks(lockUrls.split(","), { nodeTimeoutMs: 2_000, ...options });
  onTestFinished(() => locks.close());
  return locks;
}
