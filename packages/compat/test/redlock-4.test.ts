import { Redis } from "ioredis";
import { describe, expect, test } from "vitest";
import DefaultRedlock, { Lock, LockError, Redlock } from "../src/redlock-4.ts";
import { startServers, valuesOf } from "./servers.ts";

const { clients, servers } = await startServers(3);
let keys = 0;
const freshKey = (): string => `key-${++keys}`;

test("the class is the default export, too, and has those of locks and errors", () => {
  expect(DefaultRedlock).toBe(Redlock);
  expect([Redlock.Lock, Redlock.LockError]).toEqual([Lock, LockError]);
  expect(new Redlock(clients).settings).toMatchObject({ driftFactor: 0.01, retryCount: 10, retryDelay: 200 });
});

describe("lock()", () => {
  test("sets one key or several, until unlock()", async () => {
    const [a, b] = [freshKey(), freshKey()];
    const redlock = new Redlock(clients);
    const lock: Redlock.Lock = await redlock.lock([a, b], 10_000);
    expect(lock).toBeInstanceOf(Lock);
    expect(lock).toMatchObject({ resource: [a, b], attempts: 1, attemptsRemaining: 9, fence: expect.any(Number) });
    await expect.poll(() => valuesOf(clients, b)).toEqual([lock.value]);
    await lock.unlock();
    expect(lock.expiration).toBe(0);
    await expect.poll(() => valuesOf(clients, b)).toEqual([null]);
    await redlock.unlock(await redlock.lock(a, 10_000));
    await redlock.release(await redlock.acquire(a, 10_000));
    await redlock.release(await redlock.acquireWithOptions(a, 10_000, { retryCount: 0 }));
  });

  test("rejects with a LockError after its attempts; lockWithOptions() honours retryCount: 0", async () => {
    const key = freshKey();
    const redlock = new Redlock(clients, { retryCount: 2, retryDelay: 1 });
    const lock = await redlock.lock(key, 10_000);
    const error = await redlock.lock(key, 10_000).catch((reason) => reason);
    expect(error).toBeInstanceOf(LockError);
    expect(error).toMatchObject({ attempts: 3, message: `Exceeded 2 attempts to lock the resource "${key}".` });
    await expect(redlock.lockWithOptions(key, 10_000, { retryCount: 0 })).rejects.toMatchObject({ attempts: 1 });
    await lock.unlock();
  });

  test("emits clientError for a server that fails, and for no denial", async () => {
    const stopped = await startServers(1);
    const [dead] = stopped.clients as [Redis];
    dead.on("error", () => {});
    await dead.ping();
    await stopped.servers[0]?.stop();
    const errors: unknown[] = [];
    const key = freshKey();
    const redlock = new Redlock([...clients.slice(0, 2), dead], { retryCount: 0 }).on("clientError", (error) =>
      errors.push(error),
    );
    const lock = await redlock.lock(key, 10_000);
    await expect.poll(() => errors).not.toEqual([]);
    expect(String(errors[0])).toContain("not connected");
    await lock.unlock();
    const alive: unknown[] = [];
    await clients[0]?.set(key, "other");
    const other = new Redlock(clients.slice(0, 1), { retryCount: 0 }).on("clientError", (error) => alive.push(error));
    await expect(other.lock(key, 10_000)).rejects.toBeInstanceOf(LockError);
    expect(alive).toEqual([]);
  });
});

test("extend() resolves with the same lock, and rejects once it has ended", async () => {
  const key = freshKey();
  const lock = await new Redlock(clients).lock(key, 10_000);
  expect(await lock.extend(30_000)).toBe(lock);
  expect(lock.expiration).toBeGreaterThan(Date.now() + 20_000);
  await expect(lock.extend(10_000)).rejects.toThrow("10000 ms would shorten the lock");
  for (const client of clients) await client.set(key, "other");
  await expect(lock.extend(40_000)).rejects.toBeInstanceOf(LockError);
  await expect(lock.unlock()).rejects.toMatchObject({ name: "LockError", cause: { reason: "not-held" } });
});

test.each([
  ["a callback of lock()", (redlock: Redlock) => redlock.lock("r", 1_000, (() => {}) as never)],
  ["a callback of quit()", (redlock: Redlock) => redlock.quit((() => {}) as never)],
])("refuses %s, which would never be called", async (_, call) => {
  await expect(call(new Redlock(clients))).rejects.toThrow("callbacks are not supported");
});

test("refuses callbacks of a lock's own methods, and keeps the lock", async () => {
  const lock = await new Redlock(clients).lock(freshKey(), 10_000);
  await expect(lock.extend(20_000, (() => {}) as never)).rejects.toThrow("callbacks are not supported");
  await expect(lock.unlock((() => {}) as never)).rejects.toThrow("callbacks are not supported");
  await lock.unlock();
});

test("refuses scripts, a resource that is no string, and a lock that is made from a value", async () => {
  expect(() => new Redlock(clients, { lockScript: () => "" } as never)).toThrow("lockScript is not an option");
  const redlock = new Redlock(clients);
  await expect(redlock.lock(42 as never, 10_000)).rejects.toThrow("resource must be a string or an array of strings");
  await expect(redlock.unlock(new Lock(redlock, ["r"], "value", 0, 1, 9, 1))).rejects.toThrow(
    "its value is not enough",
  );
});

test("quit() closes the clients", async () => {
  const own = servers.map(({ port }) => new Redis({ port }));
  await new Redlock(own).quit();
  await expect.poll(() => own.map(({ status }) => status)).toEqual(["end", "end", "end"]);
});
