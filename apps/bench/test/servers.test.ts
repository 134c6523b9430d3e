import { createCleanup } from "@holdfast/testkit/cleanup";
import { Redis } from "ioredis";
import { expect, onTestFinished, test } from "vitest";
import { bundlePrograms } from "../src/bundle.ts";
import { createServers } from "../src/servers.ts";

test("Servers.remotePorts() lead through a network that delays each reply by the round trip that was set", async () => {
  const cleanup = createCleanup();
  onTestFinished(() => cleanup.run());
  const { network } = await bundlePrograms();
  const servers = createServers(network, cleanup);
  const [port = 0] = await servers.remotePorts(1);
  expect(await servers.setRoundTrip(1, 20)).toBeGreaterThan(18);
  const redis = new Redis({ host: "127.0.0.1", port });
  cleanup.defer(() => redis.disconnect());
  await redis.ping();
  const tookMs: number[] = [];
  for (let time = 0; time < 5; time++) {
    const startMs = performance.now();
    await redis.ping();
    tookMs.push(performance.now() - startMs);
  }
  expect(Math.min(...tookMs)).toBeGreaterThan(18);
});
