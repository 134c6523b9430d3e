import { once } from "node:events";
import { type LockNode, Redlock, type RedlockOptions } from "@holdfast/core";
import { semaphore } from "@holdfast/core/semaphore";
import { etcdNode } from "@holdfast/etcd";
import { ioredisNode } from "@holdfast/ioredis";
import { createTable, postgresNode } from "@holdfast/postgres";
import { isNightly, startRedisServer } from "@holdfast/testkit";
import { startEtcdServer } from "@holdfast/testkit/etcd-server";
import { startPostgresServer } from "@holdfast/testkit/postgres-server";
import { Redis } from "ioredis";
import pg from "pg";
import { afterAll, expect, onTestFinished, test } from "vitest";

const redisServers = await Promise.all([1, 2, 3].map(() => startRedisServer()));
const postgresServer = await startPostgresServer();
const etcdServer = await startEtcdServer();
afterAll(async () => {
  await Promise.all([...redisServers, postgresServer, etcdServer].map((server) => server.stop()));
});

const { connectionString } = postgresServer;
const admin = new pg.Client(connectionString);
await admin.connect();
await admin.query(createTable());
afterAll(() => admin.end());

/** Returns a process's nodes: three over Redis, one over PostgreSQL, one over etcd. */
async function openNodes(): Promise<LockNode[]> {
  const clients = redisServers.map(({ port }) => new Redis(port));
  await Promise.all(clients.map((client) => once(client, "ready")));
  const pool = new pg.Pool({ connectionString });
  pool.on("error", () => {});
  const etcd = etcdNode({ endpoints: `http://127.0.0.1:${etcdServer.port}` });
  const redisNodes = clients.map((client, index) => ioredisNode(client, { name: `redis-${index + 1}` }));
  onTestFinished(async () => {
    for (const client of clients) client.disconnect();
    await pool.end();
  });
  return [...redisNodes, postgresNode(pool), etcd];
}

/** @param chosen the names of the nodes to use */
async function openRedlock(options?: RedlockOptions, chosen = /./): Promise<Redlock> {
  const nodes = (await openNodes()).filter(({ name }) => chosen.test(name));
  const redlock = new Redlock(nodes, { waitTimeoutMs: 60_000, ...options });
  onTestFinished(() => redlock.close());
  return redlock;
}

/** Counts in a critical section, which loses increments if two workers are inside at once. */
async function contend(redlocks: readonly Redlock[], resources: readonly string[], rounds: number): Promise<number[]> {
  let counter = 0;
  const fences: number[] = [];
  const work = async (redlock: Redlock): Promise<void> => {
    for (let round = 0; round < rounds; round++) {
      await redlock.using(resources, async ({ fence }) => {
        const before = counter;
        fences.push(fence);
        await new Promise(setImmediate);
        counter = before + 1;
      });
    }
  };
  await Promise.all(redlocks.map(work));
  expect(counter).toBe(redlocks.length * rounds);
  return fences;
}

test("a majority of nodes over Redis, PostgreSQL and etcd excludes others, and its fences increase", async () => {
  const redlocks = await Promise.all([openRedlock(), openRedlock(), openRedlock()]);
  const one = await contend(redlocks, ["invoice:42"], 10);
  const several = await contend(redlocks, ["from:7", "to:9"], 5);
  for (const fences of [one, several]) expect(fences).toEqual([...new Set(fences)].sort((a, b) => a - b));
});

test("readers hold a lock over all stores at once, a writer waits for them all, and later readers for the writer", async () => {
  const [one, two, three] = await Promise.all([openRedlock(), openRedlock(), openRedlock()]);
  const readers = await Promise.all([one, two, three].map((redlock) => redlock.acquire("read", { mode: "shared" })));
  expect(await one.tryAcquire("read")).toBeNull();
  const inspection = await two.inspect("read");
  expect(inspection.holders.map(({ owner }) => owner).sort()).toEqual(readers.map(({ owner }) => owner).sort());
  const writing = two.acquire("read");
  for (const reader of readers) await reader.release();
  const writer = await writing;
  for (const reader of readers) expect(writer.fence).toBeGreaterThan(reader.fence);
  expect(await three.tryAcquire("read", { mode: "shared" })).toBeNull();
  await writer.release();
  const later = await three.acquire("read", { mode: "shared" });
  expect(later.fence).toBeGreaterThan(writer.fence);
  await later.release();
});

test("writers over all stores exclude everybody, and the fences of readers and writers follow the order of the locks", async () => {
  const redlocks = await Promise.all([openRedlock(), openRedlock(), openRedlock()]);
  const inside = { shared: 0, exclusive: 0 };
  const latest = { shared: 0, exclusive: 0 };
  let locks = 0;
  const use = async (redlock: Redlock, mode: "shared" | "exclusive"): Promise<void> => {
    await redlock.using(["from:7", "to:9"], { mode }, async ({ fence }) => {
      inside[mode] += 1;
      locks += 1;
      expect(inside.exclusive === 0 || (inside.exclusive === 1 && inside.shared === 0)).toBe(true);
      expect(fence).toBeGreaterThan(latest.exclusive);
      if (mode === "exclusive") expect(fence).toBeGreaterThan(latest.shared);
      latest[mode] = Math.max(latest[mode], fence);
      await admin.query("SELECT 1");
      inside[mode] -= 1;
    });
  };
  const work = async (redlock: Redlock): Promise<void> => {
    for (let round = 0; round < 6; round++) {
      await Promise.all([use(redlock, "shared"), use(redlock, "shared"), use(redlock, "exclusive")]);
    }
  };
  await Promise.all(redlocks.map(work));
  expect(locks).toBe(54);
});

test("a lock is granted and kept by any three of them: without two Redis, and without PostgreSQL and etcd", async () => {
  const redlock = await openRedlock({ ttlMs: 20_000 });
  const rival = await openRedlock();
  const early = await redlock.acquire("r");
  await early.release();
  for (const down of [
    [redisServers[0], redisServers[1]],
    [postgresServer, etcdServer],
  ] as const) {
    for (const server of down) await server?.pause();
    try {
      const lock = await redlock.acquire("r");
      expect(lock.fence).toBeGreaterThan(early.fence);
      await lock.extend();
      expect(await rival.tryAcquire("r")).toBeNull();
      await lock.release();
    } finally {
      for (const server of down) await server?.resume();
    }
  }
});

const stores: readonly (readonly [string, RegExp])[] = [
  ["all stores", /./],
  ["PostgreSQL", /postgres/],
  ["etcd", /etcd/],
];

test.each(stores.slice(0, isNightly ? undefined : 1))(
  "semaphore() over %s admits as many as it has permits, and serves all",
  async (_, chosen) => {
    const clients = await Promise.all(
      [1, 2, 3].map(async () => {
        const redlock = await openRedlock({ ttlMs: 30_000 }, chosen);
        return semaphore(redlock, `of ${chosen}`, 3, { waitTimeoutMs: 60_000 });
      }),
    );
    let inside = 0;
    let most = 0;
    const calls = [1, 2, 1, 3, 1, 2].flatMap((count) => clients.map((client) => ({ client, count })));
    const served = calls.map(({ client, count }) =>
      client.using(count, async ({ slots }) => {
        inside += count;
        most = Math.max(most, inside);
        await admin.query("SELECT 1");
        inside -= count;
        return slots.length;
      }),
    );
    expect(await Promise.all(served)).toEqual(calls.map(({ count }) => count));
    expect(most).toBeLessThanOrEqual(3);
  },
);
