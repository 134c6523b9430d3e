import { Redlock } from "@holdfast/core";
import { serverForTest } from "@holdfast/redis-testkit/adapter-tools";
import { eventually } from "@holdfast/redis-testkit/timing";
import { Redis } from "ioredis";
import { expect, onTestFinished, test } from "vitest";
import { ioredisNode } from "../src/index.ts";

test("adopt() works with a restart guard as short as the ttl and the time of the ticket", {
  timeout: 30_000,
}, async () => {
  const { port } = await serverForTest();
  const client = new Redis(port);
  onTestFinished(() => client.disconnect());
  const redlock = new Redlock([ioredisNode(client, { restartGuardMs: 4_000 })], { ttlMs: 4_000, nodeTimeoutMs: 1_000 });
  onTestFinished(() => redlock.close());
  const lock = await eventually(() => redlock.acquire("r", { waitTimeoutMs: 0 }));
  const adopted = await redlock.adopt(await lock.transfer());
  expect(adopted.fence).toBeGreaterThan(lock.fence);
  await adopted.release();
  expect(await client.exists("lock:r")).toBe(0);
});
