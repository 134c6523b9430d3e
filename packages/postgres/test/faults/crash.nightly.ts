import type { Lock } from "@holdfast/core";
import { expect, test } from "vitest";
import { type Client, openClient, startServer } from "./client.ts";
import { createLedger } from "./ledger.ts";
import { startStorm } from "./storm.ts";

/** Asserts that the lock is still held under its token, and that nobody else gets it. */
async function expectHeld(lock: Lock, { redlock, node }: Client): Promise<void> {
  const [resource = ""] = lock.resources;
  const view = await node.inspect(resource);
  expect(view).toMatchObject({ owner: lock.owner, fence: lock.fence });
  expect(await redlock.tryAcquire(resource)).toBeNull();
  await lock.extend();
}

test("postgresNode() keeps claims, counters and exclusion while its server is killed", async ({ annotate }) => {
  const server = await startServer();
  const client = openClient(server.connectionString);
  const lock = await client.redlock.acquire("held through the crash");
  const storm = startStorm(server);
  for (let kills = 0; kills < 3; kills++) {
    await storm.grants(80);
    await server.kill();
    const fences = new Map(storm.fences);
    await server.restart();
    await expectHeld(lock, client);
    for (const [resource, fence] of fences) {
      expect((await client.node.inspect(resource)).fence).toBeGreaterThanOrEqual(fence);
    }
  }
  await storm.grants(80);
  await storm.expectExclusion(annotate, "3 kills with fsync");
});

test("postgresNode() keeps exclusion while its server freezes for longer than the ttl", async ({ annotate }) => {
  const server = await startServer();
  const storm = startStorm(server);
  for (let times = 0; times < 3; times++) {
    await storm.grants(60);
    await server.pause();
    await new Promise((resolve) => setTimeout(resolve, 400));
    await server.resume();
  }
  await storm.grants(60);
  await storm.expectExclusion(annotate, "3 freezes of 400 ms");
});

test("createLedger() notices claims and counters that a server forgets", async () => {
  const server = await startServer();
  const [one, two] = [openClient(server.connectionString), openClient(server.connectionString, { isBehind: true })];
  const ledger = createLedger();
  ledger.enter(await one.redlock.acquire(["a", "b"]));
  await one.pool.query("TRUNCATE holdfast_locks");
  ledger.enter(await two.redlock.acquire(["b", "c"]));
  expect(ledger.locks).toBe(2);
  expect(ledger.overlaps).toEqual([expect.stringContaining("b was granted while it was held")]);
  expect(ledger.fenceFaults).toEqual([expect.stringContaining("b got token 1 after ")]);
});
