import { createCleanup } from "@holdfast/testkit/cleanup";
import { Redis } from "ioredis";
import { expect, onTestFinished, test } from "vitest";
import { createServers } from "../src/servers.ts";

test("Servers.at() leads through a network that delays each reply by the round trip", async () => {
  const cleanup = createCleanup();
  onTestFinished(() => cleanup.run());
  const { addresses, delay } = await createServers(cleanup).at(1, 20);
  expect(await delay?.(true)).toBeGreaterThan(10);
  const redis = new Redis(addresses[0] as number);
  cleanup.defer(() => redis.disconnect());
  await redis.ping();
  const tookMs: number[] = [];
  for (let time = 0; time < 5; time++) {
    const startMs = performance.now();
    await redis.ping();
    tookMs.push(performance.now() - startMs);
  }
  // More than the delay of one direction, however coarse the clocks of the two processes are.
  expect(Math.min(...tookMs)).toBeGreaterThan(10);
});
