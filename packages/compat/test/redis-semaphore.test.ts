import type { Redis } from "ioredis";
import { describe, expect, test, vi } from "vitest";
import {
  defaultTimeoutOptions,
  type LockOptions,
  LostLockError,
  MultiSemaphore,
  Mutex,
  RedlockMultiSemaphore,
  RedlockMutex,
  RedlockSemaphore,
  Semaphore,
  TimeoutError,
} from "../src/redis-semaphore.ts";
import { startServers, valuesOf } from "./servers.ts";

const { clients } = await startServers(3);
const client = clients[0] as Redis;
let keys = 0;
const freshKey = (): string => `key-${++keys}`;
const replacesRedisSemaphore = true;
const once: LockOptions = { acquireAttemptsLimit: 1 };
const long: LockOptions = { lockTimeout: 600_000 };

const mutexes = [
  ["Mutex", (key: string, options?: LockOptions) => new Mutex(client, key, options), [client]],
  ["RedlockMutex", (key: string, options?: LockOptions) => new RedlockMutex(clients, key, options), clients],
] as const;

describe.each(mutexes)("%s", (_, create, servers) => {
  test("acquire() sets the key of redis-semaphore, and release() deletes it; both can be repeated", async () => {
    const key = freshKey();
    const mutex = create(key);
    for (let round = 0; round < 2; round++) {
      expect(mutex.isAcquired).toBe(false);
      await mutex.acquire();
      expect(mutex.isAcquired).toBe(true);
      expect(mutex.fence).toBeGreaterThan(0);
      await expect.poll(() => valuesOf(servers, `mutex:${key}`)).toEqual([mutex.identifier]);
      await mutex.release();
      expect(mutex.isAcquired).toBe(false);
      await expect.poll(() => valuesOf(servers, `mutex:${key}`)).toEqual([null]);
      await mutex.release(); // harmless
    }
  });

  test("acquire() rejects with a TimeoutError while another holds it, and tryAcquire() resolves with false", async () => {
    const key = freshKey();
    const holder = create(key);
    await holder.acquire();
    const other = create(key, { acquireTimeout: 20 });
    const error = await other.acquire().catch((reason) => reason);
    expect(error).toBeInstanceOf(TimeoutError);
    expect(error).toMatchObject({ message: expect.stringMatching(/^Acquire (redlock-)?mutex mutex:key-\d+ timeout$/) });
    expect(error.cause.code).toBe("WAIT_TIMEOUT");
    expect(await create(key, once).tryAcquire()).toBe(false);
    expect(await create(key, { acquireAttemptsLimit: 3, retryInterval: 1 }).tryAcquire()).toBe(false);
    await holder.release();
    const next = create(key, once);
    expect(await next.tryAcquire()).toBe(true);
    await next.release();
  });

  test("acquire() hands a released lock to an object that waits, and gives up when its signal aborts", async () => {
    const key = freshKey();
    const holder = create(key);
    await holder.acquire();
    const impatient = create(key).acquire(AbortSignal.abort(new Error("enough")));
    await expect(impatient).rejects.toThrow("enough");
    const waiting = create(key);
    const acquired = waiting.acquire();
    await holder.release();
    await acquired;
    await waiting.release();
  });

  test("refreshes the lock until it is released", async () => {
    const key = freshKey();
    const mutex = create(key, { lockTimeout: 300, refreshInterval: 20 });
    await mutex.acquire();
    const renewed = async (): Promise<boolean> => {
      const before = await client.pttl(`mutex:${key}`);
      return (await client.pttl(`mutex:${key}`)) > before;
    };
    await vi.waitUntil(renewed, { timeout: 10_000, interval: 5 });
    expect(mutex.isAcquired).toBe(true);
    await mutex.release();
  });

  test("calls onLockLost once when another takes the key, with isAcquired false", async () => {
    const key = freshKey();
    const lost: unknown[] = [];
    const mutex = create(key, {
      lockTimeout: 1_000,
      refreshInterval: 10,
      onLockLost(this: Mutex, error) {
        lost.push([error, this === mutex, this.isAcquired]);
      },
    });
    await mutex.acquire();
    for (const server of servers) await server.set(`mutex:${key}`, "other");
    await expect.poll(() => lost).toEqual([[expect.any(LostLockError), true, false]]);
    await mutex.release();
    expect(await valuesOf(servers, `mutex:${key}`)).toEqual(["other"]);
  });

  test("throws what nobody can catch when the lock is lost and there is no onLockLost", async () => {
    const key = freshKey();
    const before = process.listeners("unhandledRejection");
    process.removeAllListeners("unhandledRejection");
    try {
      const uncaught = new Promise((resolve) => process.once("unhandledRejection", resolve));
      await create(key, { lockTimeout: 1_000, refreshInterval: 10 }).acquire();
      await Promise.all(servers.map((server) => server.del(`mutex:${key}`)));
      expect(await uncaught).toMatchObject({ name: "LostLockError", cause: { code: "LOCK_LOST" } });
    } finally {
      for (const listener of before) process.on("unhandledRejection", listener);
    }
  });

  test.each([
    ["stopRefresh()", { lockTimeout: 200, refreshInterval: 20 }, true],
    ["refreshInterval: 0", { lockTimeout: 200, refreshInterval: 0 }, false],
  ])("%s lets the lock expire, and tells nobody", async (_name, options, stops) => {
    const onLockLost = vi.fn();
    const key = freshKey();
    const mutex = create(key, { ...options, onLockLost });
    await mutex.acquire();
    if (stops) mutex.stopRefresh();
    await expect.poll(() => valuesOf(servers, `mutex:${key}`)).toEqual([null]);
    expect(mutex.isAcquired).toBe(false);
    expect(onLockLost).not.toHaveBeenCalled();
  });

  test.each([
    ["identifier", { identifier: "mine" }],
    ["acquiredExternally", { acquiredExternally: true }],
    ["externallyAcquiredIdentifier", { externallyAcquiredIdentifier: "theirs" }],
    ["identifierSuffix", { identifierSuffix: "-a" }],
  ])("refuses %s, which would share a lock between processes", (name, options) => {
    expect(() => create("r", options as never)).toThrow(`${name} is not supported`);
  });

  test.each([
    ["an unknown option", "r", { timeout: 1 }, "timeout is not an option of a mutex"],
    ["an option of another type", "r", { lockTimeout: "1" }, "lockTimeout must be a number"],
    ["no attempts", "r", { acquireAttemptsLimit: 0 }, "acquireAttemptsLimit must be at least 1"],
    ["a key that is no string", 1, {}, "key must be a string"],
  ])("refuses %s", (_name, key, options, message) => {
    expect(() => create(key as never, options as never)).toThrow(message);
  });

  test("has no identifier before its first lock", () => {
    expect(() => create("r").identifier).toThrow("before the first lock");
  });
});

test("keyPrefix precedes the key", async () => {
  const mutex = new Mutex(client, "prefixed", { keyPrefix: "app:" });
  await mutex.acquire();
  expect(await client.get("app:mutex:prefixed")).toBe(mutex.identifier);
  await mutex.release();
});

test("an empty key, no clients, and what is no client are refused", async () => {
  expect(() => new RedlockMutex(undefined as never, "r")).toThrow("clients must be an array");
  expect(() => new RedlockMutex([], "r")).toThrow("at least one");
  expect(() => new Mutex(undefined as never, "r")).toThrow("client must be an ioredis Redis or Cluster");
  await expect(new Mutex(client, "").acquire()).rejects.toThrow("must not be an empty string");
});

test("RedlockMutex reports servers that do not reply as a timeout, and Mutex as their error", async () => {
  const { clients: dead, servers } = await startServers(1);
  const [gone] = dead as [Redis];
  gone.on("error", () => {});
  await gone.ping();
  const held = new RedlockMutex([gone], "r", { refreshInterval: 0 });
  await held.acquire();
  await servers[0]?.stop();
  await expect(new RedlockMutex([gone], "s", once).acquire()).rejects.toBeInstanceOf(TimeoutError);
  await expect(new Mutex(gone, "s", once).acquire()).rejects.toMatchObject({ code: "QUORUM_UNREACHABLE" });
  await held.release();
});

test.each([
  ["Mutex", (own: Redis) => new Mutex(own, "again", long), "mutex:again"],
  [
    "Semaphore",
    (own: Redis) => new Semaphore(own, "again", 1, { ...long, replacesRedisSemaphore }),
    "lock:sem:again:0",
  ],
])("%s: release() can be repeated after it failed", async (_, create, key) => {
  const own = client.duplicate();
  const lock = create(own);
  await lock.acquire();
  own.disconnect();
  await expect.poll(() => own.status).toBe("end");
  await expect(lock.release()).rejects.toMatchObject({ code: "QUORUM_UNREACHABLE" });
  expect(lock.isAcquired).toBe(false);
  expect(await client.exists(key)).toBe(1);
  await own.connect();
  await lock.release();
  await expect.poll(() => client.exists(key)).toBe(0);
  own.disconnect();
});

const semaphores = [
  ["Semaphore", (key: string, options: object) => new Semaphore(client, key, 2, options as never)],
  ["RedlockSemaphore", (key: string, options: object) => new RedlockSemaphore(clients, key, 2, options as never)],
] as const;

describe.each(semaphores)("%s", (_, create) => {
  test("admits as many holders as its limit", async () => {
    const key = freshKey();
    const [a, b, c] = [0, 1, 2].map(() => create(key, { ...once, replacesRedisSemaphore })) as [
      Semaphore,
      Semaphore,
      Semaphore,
    ];
    expect(await a.tryAcquire()).toBe(true);
    expect(await b.tryAcquire()).toBe(true);
    expect(await c.tryAcquire()).toBe(false);
    expect([a, b].flatMap(({ slots = [] }) => slots.map(({ slot }) => slot)).sort()).toEqual([0, 1]);
    expect(a.identifier).not.toBe(b.identifier);
    await a.release();
    expect(a.isAcquired).toBe(false);
    expect(await c.tryAcquire()).toBe(true);
    for (const each of [b, c]) await each.release();
  });

  test.each([[undefined], [{}], [{ replacesRedisSemaphore: false }]])(
    "refuses %j, as old permits are not counted",
    (options) => {
      expect(() => create("r", options as never)).toThrow("replacesRedisSemaphore: true");
    },
  );
});

test.each([
  ["MultiSemaphore", (key: string) => new MultiSemaphore(client, key, 3, 2, { ...once, replacesRedisSemaphore })],
  [
    "RedlockMultiSemaphore",
    (key: string) => new RedlockMultiSemaphore(clients, key, 3, 2, { ...once, replacesRedisSemaphore }),
  ],
])("%s acquires all of its permits or none, and shares them with semaphores of the same key", async (_, create) => {
  const key = freshKey();
  const [two, others] = [create(key), create(key)];
  await two.acquire();
  expect(two.slots).toHaveLength(2);
  expect(await others.tryAcquire()).toBe(false);
  await two.release();
  await others.acquire();
  await others.release();
});

test("defaultTimeoutOptions are those of redis-semaphore", async () => {
  expect(defaultTimeoutOptions).toEqual((await import("redis-semaphore")).defaultTimeoutOptions);
});
