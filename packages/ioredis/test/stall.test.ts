import { spawnSync } from "node:child_process";
import { Redlock } from "@holdfast/core";
import { type RedisServer, stall, startRedisServer } from "@holdfast/testkit";
import { Redis } from "ioredis";
import { afterAll, beforeAll, expect, it } from "vitest";
import { ioredisNode } from "../src/index.ts";

let servers: RedisServer[] = [];
let clients: Redis[] = [];
let redlock: Redlock;

beforeAll(async () => {
  servers = await Promise.all([1, 2, 3, 4, 5].map(() => startRedisServer()));
  clients = servers.map(({ port }) => new Redis({ host: "127.0.0.1", port }));
  await Promise.all(clients.map((client) => client.ping()));
  redlock = new Redlock(
    clients.map((client) => ioredisNode(client)),
    { waitTimeoutMs: 0, nodeTimeoutMs: 5 },
  );
}, 60_000);

afterAll(async () => {
  for (const client of clients) client.disconnect();
  await Promise.all(servers.map((server) => server.stop()));
});

/** Blocks this process until every server has executed the acquire, and for at least `stallMs`. */
async function stallUntilAnswered(resource: string, stallMs: number): Promise<void> {
  // Requests of this tick are sent at its end.
  await new Promise<void>((resolve) => process.nextTick(resolve));
  const startMs = performance.now();
  const endMs = startMs + stallMs;
  for (const { port } of servers) {
    const exists = ["-p", String(port), "EXISTS", `lock:${resource}`];
    while (spawnSync("redis-cli", exists, { encoding: "utf8" }).stdout.trim() !== "1") {
      if (performance.now() > startMs + 30_000) throw new Error(`the server on port ${port} was not asked`);
    }
  }
  stall(Math.max(0, endMs - performance.now()));
}

it("acquire() succeeds after a stall longer than the node timeout, by replies that arrived meanwhile (S6)", async () => {
  const pending = redlock.acquire("stalled", { ttlMs: 60_000 });
  await stallUntilAnswered("stalled", 20);
  const lock = await pending;
  expect(lock.remainingMs()).toBeLessThan(60_000 - 602 - 20);
}, 60_000);
