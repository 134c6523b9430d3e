import { connectNodes } from "@holdfast/app-kit/nodes";
import { type Lock, Redlock } from "@holdfast/core";
import { afterAll, describe, expect, test } from "vitest";
import { theirs } from "./libraries/others.ts";
import { patience, startServers, untilLocked } from "./servers.ts";

const servers = await startServers(3);
const ports = servers.map(({ port }) => port);
const ttlMs = 60_000;
let keys = 0;
const freshKey = (): string => `mutex:shared-${++keys}`;

const connected = await connectNodes("ioredis", ports, { prefix: "" });
const redlock = new Redlock(connected.nodes, { nodeTimeoutMs: 10_000, ttlMs });
afterAll(() => connected.close());

/** Shares a lock, and waits until all servers know. */
async function share(key: string): Promise<Lock> {
  const lock = await redlock.acquire(key, { mode: "shared", waitTimeoutMs: 30_000 });
  await expect
    .poll(async () => (await redlock.inspect(key)).nodes.every(({ view }) => isIn(view, lock)), patience)
    .toBe(true);
  return lock;
}

function isIn(view: Awaited<ReturnType<Redlock["inspect"]>>["nodes"][number]["view"], { owner }: Lock): boolean {
  return view?.sharers?.some((sharer) => sharer.owner === owner) ?? false;
}

/** Returns how many servers have the key. */
async function holders(key: string): Promise<number> {
  const counts = await Promise.all(servers.map(({ command }) => command("EXISTS", key)));
  return counts.map(Number).reduce((sum, count) => sum + count, 0);
}

describe.each(theirs)("shared locks of Holdfast beside $name", (library) => {
  test("exclude it until the last reader releases, and are excluded by it", async () => {
    const other = await library.connect(ports);
    const key = freshKey();
    const readers = [await share(key), await share(key)];
    expect(await other.tryLock([key], ttlMs)).toBeNull();
    await readers[0]?.release();
    expect(await other.tryLock([key], ttlMs)).toBeNull();
    await readers[1]?.release();
    await expect.poll(() => holders(key), patience).toBe(0);
    const held = await untilLocked(other, [key], ttlMs);
    expect(await redlock.tryAcquire(key, { mode: "shared" })).toBeNull();
    await held.release();
    await expect.poll(() => holders(key), patience).toBe(0);
    await (await share(key)).release();
    other.close();
  });

  test("survive what it sends for a lock that its servers dropped", async () => {
    const other = await library.connect(ports);
    const key = freshKey();
    const dropped = await untilLocked(other, [key], ttlMs);
    await expect.poll(() => holders(key), patience).toBe(ports.length);
    for (const { command } of servers) await command("DEL", key);
    const reader = await share(key);
    expect(await dropped.extend(ttlMs)).toBe(false);
    await dropped.release();
    expect(await other.tryLock([key], ttlMs)).toBeNull(); // on the same connections: what the release sent has arrived
    expect(await holders(key)).toBe(ports.length);
    await reader.extend();
    await reader.release();
    other.close();
  });
});
