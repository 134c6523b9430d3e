/** The statements of the migration pages about the other libraries, beyond names and defaults. */

import { setTimeout as sleep } from "node:timers/promises";
import { connectIoredis, disconnect } from "@holdfast/app-kit/clients";
import { freePort } from "@holdfast/testkit";
import { ExecutionError as SesamecareError, Redlock as SesamecareRedlock } from "@sesamecare-oss/redlock";
import { Redis } from "ioredis";
import { LostLockError, Mutex, RedlockMutex, TimeoutError } from "redis-semaphore";
import { createLock, createRedlock, IoredisAdapter, LockAcquisitionError } from "redlock-universal";
import Redlock4 from "redlock4";
import Redlock5, { ExecutionError } from "redlock5";
import { afterAll, describe, expect, onTestFinished, test } from "vitest";
import { startServers } from "./servers.ts";

const servers = await startServers(3);
const [server] = servers as [(typeof servers)[number]];
const clients = await connectIoredis(servers.map(({ port }) => port));
const [client] = clients as [Redis];
const nowhere = await freePort();
afterAll(() => disconnect(clients));

const ttlMs = 60_000;
const noRetries = { retryCount: 0 };
/** A client whose server does not exist: its commands fail at once. */
const unreachable = (): Redis =>
  new Redis({ port: nowhere, lazyConnect: true, enableOfflineQueue: false, retryStrategy: () => null }).on(
    "error",
    () => {},
  );
let keys = 0;
const freshKey = (): string => `key-${++keys}`;

/** Returns a key that another client holds on all servers, with either prefix. */
async function takenKey(): Promise<string> {
  const key = freshKey();
  for (const { command } of servers) await command("MSET", key, "somebody", `mutex:${key}`, "somebody");
  return key;
}

/** Deletes a key on all servers. */
async function drop(key: string): Promise<void> {
  for (const { command } of servers) await command("DEL", key, `mutex:${key}`);
}

describe("redlock 4", () => {
  const redlock = new Redlock4([client], noRetries);

  test("has one error for all: held, unreachable, ended", async () => {
    const { LockError } = Redlock4;
    await expect(redlock.lock(await takenKey(), ttlMs)).rejects.toThrow(LockError);
    await expect(new Redlock4([unreachable()], noRetries).lock("any", ttlMs)).rejects.toThrow(LockError);
    const key = freshKey();
    const lock = await redlock.lock(key, ttlMs);
    await drop(key);
    await expect(lock.extend(ttlMs)).rejects.toThrow(LockError);
    await expect(lock.unlock()).rejects.toThrow(LockError);
  });

  test("extends the same lock", async () => {
    const lock = await redlock.lock(freshKey(), ttlMs);
    expect(await lock.extend(ttlMs)).toBe(lock);
  });

  test("ignores a retryCount of 0 in lockWithOptions", async () => {
    const patient = new Redlock4([client], { retryCount: 2, retryDelay: 1, retryJitter: 0 });
    const refused = patient.lockWithOptions(await takenKey(), ttlMs, { retryCount: 0 });
    await expect(refused).rejects.toMatchObject({ attempts: 3 });
  });
});

describe.each([
  { name: "redlock 5", Redlock: Redlock5, Error: ExecutionError },
  { name: "@sesamecare-oss/redlock", Redlock: SesamecareRedlock, Error: SesamecareError },
])("$name", ({ Redlock, Error: TheError }) => {
  const redlock = new Redlock([client], noRetries);

  test("has one error for all: held, unreachable, ended", async () => {
    await expect(redlock.acquire([await takenKey()], ttlMs)).rejects.toThrow(TheError);
    await expect(new Redlock([unreachable()], noRetries).acquire(["any"], ttlMs)).rejects.toThrow(TheError);
    const key = freshKey();
    const lock = await redlock.acquire([key], ttlMs);
    await drop(key);
    await expect(lock.extend(ttlMs)).rejects.toThrow(TheError);
    await expect(lock.release()).rejects.toThrow(TheError);
  });

  test("extends by replacing the lock", async () => {
    const lock = await redlock.acquire([freshKey()], ttlMs);
    expect(await lock.extend(ttlMs)).not.toBe(lock);
    expect(lock.expiration).toBe(0);
  });

  test("reports each denial as an event", async () => {
    const reported = new Promise((resolve) => redlock.on("error", resolve));
    await expect(redlock.acquire([await takenKey()], ttlMs)).rejects.toThrow(TheError);
    expect(await reported).toMatchObject({ name: "ResourceLockedError" });
  });

  test("keeps its claims on a minority while it waits for the next attempt", async () => {
    const key = await takenKey();
    await server.command("DEL", key);
    const patient = new Redlock(clients, { retryCount: 1, retryDelay: 600_000 });
    const refused = new Promise((resolve) => patient.on("error", resolve));
    patient.acquire([key], ttlMs).catch(() => {}); // never settles: the test ends before the second attempt
    await refused;
    await expect.poll(() => server.command("GET", key)).toMatch(/^[0-9a-f]{32}$/);
  });
});

test("redlock 5 counts a lock's expiration from the call, including the wait", async () => {
  const key = await takenKey();
  const acquiring = new Redlock5([client], { retryCount: -1, retryDelay: 5, retryJitter: 0 }).acquire([key], 100);
  await sleep(150);
  await drop(key);
  expect((await acquiring).expiration).toBeLessThan(Date.now());
});

test("@sesamecare-oss/redlock locks in the database of its own option, not in that of the client", async () => {
  const inThree = new Redis({ port: server.port, db: 3 });
  const inZero = new Redis({ port: server.port });
  onTestFinished(() => disconnect([inThree, inZero]));
  const key = freshKey();
  const lock = await new SesamecareRedlock([inThree]).acquire([key], ttlMs);
  expect(await inThree.get(key)).toBeNull();
  expect(await inZero.get(key)).toBe(lock.value);
  const other = await new SesamecareRedlock([inZero], { db: 3 }).acquire([key], ttlMs);
  expect(await inThree.get(key)).toBe(other.value);
});

describe("redis-semaphore", () => {
  const quick = { acquireAttemptsLimit: 1, refreshInterval: 0 };

  test("rejects with a TimeoutError, or resolves with false, when others hold the mutex", async () => {
    const key = await takenKey();
    await expect(new RedlockMutex(clients, key, quick).acquire()).rejects.toThrow(TimeoutError);
    expect(await new Mutex(client, key, quick).tryAcquire()).toBe(false);
  });

  test("distinguishes an unreachable server only in Mutex", async () => {
    await expect(new RedlockMutex([unreachable()], "any", quick).acquire()).rejects.toThrow(TimeoutError);
    await expect(new Mutex(unreachable(), "any", quick).acquire()).rejects.toThrow("enableOfflineQueue");
  });

  test("reports a lost mutex by its callback, and releases it without an error", async () => {
    const key = freshKey();
    const lost = new Promise((resolve) => {
      void new Mutex(client, key, { refreshInterval: 5, onLockLost: resolve }).acquire().then(() => drop(key));
    });
    expect(await lost).toBeInstanceOf(LostLockError);

    const mutex = new Mutex(client, key, quick);
    await mutex.acquire();
    await drop(key);
    await mutex.release();
  });
});

describe("redlock-universal", () => {
  const adapters = clients.map((each) => new IoredisAdapter(each));
  const lockOf = (key: string) => createRedlock({ adapters, key, retryAttempts: 0 });

  test("has one error for held and unreachable", async () => {
    await expect(lockOf(await takenKey()).acquire()).rejects.toThrow(LockAcquisitionError);
    const lock = createLock({ adapter: new IoredisAdapter(unreachable()), key: "any", retryAttempts: 0 });
    await expect(lock.acquire()).rejects.toThrow(LockAcquisitionError);
  });

  test("resolves with false when a lock that has ended is extended or released", async () => {
    const key = freshKey();
    const lock = lockOf(key);
    const handle = await lock.acquire();
    await drop(key);
    expect(await lock.extend(handle, ttlMs)).toBe(false);
    expect(await lock.release(handle)).toBe(false);
  });

  test("does not reject when the lock of a routine was lost", async () => {
    const key = freshKey();
    expect(await lockOf(key).using(() => drop(key).then(() => "done"))).toBe("done");
  });

  test("accepts a quorum that is no majority", async () => {
    const key = await takenKey();
    await server.command("DEL", key);
    expect(await createRedlock({ adapters, key, quorum: 1 }).acquire()).toMatchObject({ key });
  });
});
