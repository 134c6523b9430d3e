import { expect, test } from "vitest";
import { startChild } from "./child.ts";
import { openTestLocks, startWorld } from "./world.ts";

test("workUntilStopped() finishes its round after a SIGTERM, and leaves nothing on the servers", async () => {
  const world = await startWorld();
  const worker = await startChild("shutdown-worker", world.lockUrls, "60000");
  await worker.says(/^working$/);
  expect((await world.locksLeft()).length).toBeGreaterThan(0);
  worker.send("SIGTERM");
  await worker.says(/^stopped by SIGTERM$/);
  worker.tell("finish");
  await worker.says(/^finished$/);
  await worker.says(/^closed$/);
  expect(await worker.ended).toBe(0);
  expect(await world.locksLeft()).toEqual([]);
});

test("workUntilStopped() abandons a round that takes too long, and leaves nothing on the servers", async () => {
  const world = await startWorld();
  const worker = await startChild("shutdown-worker", world.lockUrls, "100");
  await worker.says(/^working$/);
  worker.send("SIGTERM");
  await expect(worker.says(/^finished$/)).rejects.toThrow("has ended");
  expect(await worker.ended).toBe(0);
  expect(await world.locksLeft()).toEqual([]);
});

test("workUntilStopped() stops waiting after a SIGTERM, and leaves the lock of the holder alone", async () => {
  const world = await startWorld();
  const { redlock } = openTestLocks(world);
  const lock = await redlock.acquire("work");
  const worker = await startChild("shutdown-worker", world.lockUrls, "60000");
  await worker.says(/^ready$/);
  worker.send("SIGTERM");
  await worker.says(/^closed$/);
  expect(await worker.ended).toBe(0);
  await lock.extend();
});
