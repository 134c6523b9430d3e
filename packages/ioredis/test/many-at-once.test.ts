import { type Lock, Redlock, type RedlockOptions } from "@holdfast/core";
import { isNightly, type RedisServer, startRedisServer } from "@holdfast/testkit";
import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ioredisNode } from "../src/index.ts";

const ttlMs = 60_000;
let servers: RedisServer[] = [];
let clients: Redis[] = [];

beforeAll(async () => {
  servers = await Promise.all(["a", "b", "c"].map(() => startRedisServer()));
  clients = servers.map(({ port }) => new Redis({ port }).on("error", () => {}));
  await Promise.all(clients.map((client) => client.ping()));
});
afterAll(async () => {
  for (const client of clients) client.disconnect();
  await Promise.all(servers.map(({ stop }) => stop()));
});

const open = (options: RedlockOptions = {}): Redlock =>
  new Redlock(
    clients.map((client) => ioredisNode(client)),
    { ttlMs, waitTimeoutMs: ttlMs, maxWaiters: 20_000, ...options },
  );
const lockMany = (redlock: Redlock, name: string, count: number): Promise<Lock[]> =>
  Promise.all(Array.from({ length: count }, (_, index) => redlock.acquire(`${name}:${index}`)));
const releaseAll = (locks: readonly Lock[]) => Promise.all(locks.map((lock) => lock.release()));

async function expectNoLocks(): Promise<void> {
  for (const { command } of servers) expect(((await command("KEYS", "lock:*")) as string[]).length).toEqual(0);
}

describe("thousands of operations at once on healthy servers", { timeout: 120_000 }, () => {
  test("ten thousand locks are extended", async () => {
    const redlock = open();
    const locks = await lockMany(redlock, "extended", 10_000);
    const outcomes = await Promise.allSettled(locks.map((lock) => lock.extend()));
    expect(outcomes.filter(({ status }) => status === "rejected")).toEqual([]);
    await releaseAll(locks);
    await redlock.close();
    await expectNoLocks();
  });

  test("a thousand resources are inspected, with a release among them", async () => {
    // Nothing repeats an inspection, and a busy machine may take long for a thousand.
    await using redlock = open({ nodeTimeoutMs: 20_000 });
    const lock = await redlock.acquire("mine");
    const inspections = Array.from({ length: 1_000 }, (_, index) => redlock.inspect(`inspected:${index}`));
    await lock.release();
    for (const { state } of await Promise.all(inspections)) expect(state).toBe("free");
  });

  test("eight Redlocks release 960 locks", async () => {
    const eight = Array.from({ length: 8 }, () => open());
    const locks = await Promise.all(eight.map((redlock, index) => lockMany(redlock, `released ${index}`, 120)));
    await releaseAll(locks.flat());
    for (const redlock of eight) await redlock.close();
    await expectNoLocks();
  });

  // In `pnpm test`, core is tested with nodes that are silent for a while, on a virtual clock.
  if (isNightly) {
    test("four thousand locks are extended although all servers stop for three seconds", async () => {
      const redlock = open();
      const locks = await lockMany(redlock, "stopped", 4_000);
      for (const server of servers) server.pause();
      const extended = Promise.allSettled(locks.map((lock) => lock.extend()));
      await new Promise((resolve) => setTimeout(resolve, 3_000));
      for (const server of servers) server.resume();
      expect((await extended).filter(({ status }) => status === "rejected")).toEqual([]);
      await releaseAll(locks);
      await redlock.close();
      await expectNoLocks();
    });
  }
});
