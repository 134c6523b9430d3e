import { Redis } from "ioredis";
import { beforeAll, describe, expect, test } from "vitest";
import DefaultRedlock, {
  ExecutionError,
  Lock,
  Redlock,
  type RedlockUsingContext,
  ResourceLockedError,
} from "../src/redlock.ts";
import { startServers, valuesOf } from "./servers.ts";

const { servers, clients } = await startServers(3);
const durationMaxMs = 9e14;
let keys = 0;
const freshKey = (): string => `key-${++keys}`;

test("the class is the default export, too", () => {
  expect(DefaultRedlock).toBe(Redlock);
});

describe("new Redlock()", () => {
  test("has the defaults of redlock", () => {
    const { settings, clients: members } = new Redlock(new Set(clients).values(), { retryDelay: 50 });
    expect(members).toEqual(new Set(clients));
    expect(settings).toMatchObject({ driftFactor: 0.01, retryCount: 10, retryDelay: 50, retryJitter: 100 });
    expect(settings.automaticExtensionThreshold).toBe(500);
  });

  test.each([
    ["no clients", () => new Redlock([]), /at least one/],
    ["an unknown setting", () => new Redlock(clients, { retryCounts: 1 } as never), "did you mean retryCount?"],
    [
      "a setting of another type",
      () => new Redlock(clients, { retryDelay: "1" } as never),
      "retryDelay must be a number",
    ],
    ["a setting out of range", () => new Redlock(clients, { retryCount: -2 }), "retryCount must be at least -1"],
    ["scripts", () => new Redlock(clients, {}, { acquireScript: "" } as never), "custom scripts are not supported"],
    [
      "a client that is none",
      () => new Redlock([{ evalsha() {}, duplicate() {} }] as never),
      "an ioredis Redis or Cluster",
    ],
  ])("refuses %s", (_, create, message) => {
    expect(create).toThrow(message);
  });

  test("refuses a client with a keyPrefix, and names the setting that replaces it", async () => {
    const client = new Redis({ lazyConnect: true, keyPrefix: "app:" });
    expect(() => new Redlock([client])).toThrow('use one without it, and the option keyPrefix: "app:"');
    const key = freshKey();
    const lock = await new Redlock(clients, { keyPrefix: "app:" }).acquire([key], 10_000);
    await expect.poll(() => valuesOf(clients, `app:${key}`)).toEqual([lock.value]);
    await lock.release();
  });
});

describe("acquire()", () => {
  test("connects a client that was created with lazyConnect", async () => {
    const client = new Redis({ port: servers[0]?.port ?? 0, lazyConnect: true });
    const redlock = new Redlock([client]);
    expect(client.status).toBe("wait");
    await (await redlock.acquire([freshKey()], 10_000)).release();
    await redlock.quit();
  });

  test("sets the resources as keys on all servers, for up to 9e14 ms, until the release", async () => {
    const [a, b] = [freshKey(), freshKey()];
    const redlock = new Redlock(clients);
    let lock = await redlock.acquire([b, a], durationMaxMs);
    expect(lock).toBeInstanceOf(Lock);
    expect(lock).toMatchObject({ redlock, resources: [b, a], fence: expect.any(Number) });
    expect(lock.expiration - Date.now()).toBeGreaterThan(0.98 * durationMaxMs);
    for (const key of [a, b]) await expect.poll(() => valuesOf(clients, key)).toEqual([lock.value]);
    expect(await clients[0]?.pttl(a)).toBeGreaterThan(0.99 * durationMaxMs);
    lock = await lock.extend(3 * durationMaxMs);
    expect(await clients[0]?.pttl(a)).toBeGreaterThan(2.9 * durationMaxMs);
    await lock.release();
    for (const key of [a, b]) await expect.poll(() => valuesOf(clients, key)).toEqual([null]);
  });

  test("resolves with the votes of each attempt", async () => {
    const key = freshKey();
    await clients[0]?.set(key, "other");
    const lock = await new Redlock(clients).acquire([key], 10_000);
    const [stats, ...more] = await Promise.all(lock.attempts);
    expect(more).toEqual([]);
    expect(stats).toMatchObject({ membershipSize: 3, quorumSize: 2 });
    expect(stats?.votesFor).toEqual(new Set(clients.slice(1)));
    await lock.release();
  });

  test("makes retryCount + 1 attempts, and rejects with their votes and the error of Holdfast", async () => {
    const key = freshKey();
    for (const client of clients.slice(1)) await client.set(key, "other");
    const redlock = new Redlock(clients, { retryCount: 3, retryDelay: 10, retryJitter: 5 });
    const errors: unknown[] = [];
    redlock.on("error", (error) => errors.push(error));
    const error = await redlock.acquire([key], 10_000).catch((reason) => reason);
    expect(error).toBeInstanceOf(ExecutionError);
    expect(error.message).toBe("The operation was unable to achieve a quorum during its retry window.");
    expect(error.cause.code).toBe("LOCK_HELD");
    const attempts = await Promise.all((error as ExecutionError).attempts);
    expect(attempts).toHaveLength(4);
    for (const { votesAgainst } of attempts) {
      expect(votesAgainst.get(clients[1] as Redis)).toBeInstanceOf(ResourceLockedError);
      expect(votesAgainst.get(clients[1] as Redis)?.message).toContain("0 of the 1 requested resources");
    }
    expect(errors[0]).toBeInstanceOf(ResourceLockedError);
    expect(await clients[0]?.get(key)).toBeNull(); // the claim on the minority is released
  });

  test("counts attempts that asked nobody, because this process has the lock", async () => {
    const key = freshKey();
    const redlock = new Redlock(clients, { retryCount: 1, retryDelay: 1, retryJitter: 0 });
    const told: unknown[] = [];
    redlock.on("error", (reason) => told.push(reason));
    const lock = await redlock.acquire([key], 10_000);
    const error: ExecutionError = await redlock.acquire([key], 10_000).catch((reason) => reason);
    const attempts = await Promise.all(error.attempts);
    expect(attempts).toHaveLength(2);
    for (const { votesAgainst } of attempts) {
      expect([...votesAgainst.values()][0]).toBeInstanceOf(ResourceLockedError);
    }
    expect(told).toEqual(attempts.flatMap(({ votesAgainst }) => [...votesAgainst.values()]));
    await lock.release();
  });

  test("retries forever if retryCount is -1, also that of a call", async () => {
    const key = freshKey();
    const held = await new Redlock(clients).acquire([key], 10_000);
    const redlock = new Redlock(clients, { retryDelay: 5, retryJitter: 0, retryCount: 0 });
    let isSettled = false;
    const waiting = redlock.acquire([key], 10_000, { retryCount: -1 }).finally(() => {
      isSettled = true;
    });
    await expect(redlock.acquire([key], 10_000)).rejects.toBeInstanceOf(ExecutionError);
    expect(isSettled).toBe(false);
    await held.release();
    await (await waiting).release();
  });

  test.each([
    ["a duration that is no integer", [["r"], 0.5], "Duration must be an integer value in milliseconds."],
    ["a duration within the allowance for drift", [["r"], 2], "ttlMs must be above the allowance"],
    ["resources that are no array", ["r", 10_000], "resources must be an array"],
    ["no resources", [[], 10_000], "at least one resource"],
    ["another driftFactor", [["r"], 10_000, { driftFactor: 0.1 }], "driftFactor is a setting of the Redlock"],
    ["an unknown setting", [["r"], 10_000, { retries: 1 }], "retries is not an option"],
  ])("refuses %s", async (_, args, message) => {
    const redlock = new Redlock(clients, { retryCount: 0 });
    await expect(redlock.acquire(...(args as Parameters<Redlock["acquire"]>))).rejects.toThrow(message);
  });
});

describe("release()", () => {
  test("rejects if the lock was lost, and frees nobody else's", async () => {
    const key = freshKey();
    const redlock = new Redlock(clients);
    const lock = await redlock.acquire([key], 10_000);
    for (const client of clients) await client.set(key, "other");
    await expect(lock.extend(10_000)).rejects.toBeInstanceOf(ExecutionError);
    await expect(lock.release()).rejects.toMatchObject({ name: "ExecutionError", cause: { reason: "not-held" } });
    expect(await valuesOf(clients, key)).toEqual(["other"]);
  });

  test("resolves again after a release", async () => {
    const lock = await new Redlock(clients).acquire([freshKey()], 10_000);
    expect(await lock.release()).toEqual({ attempts: [], start: expect.any(Number) });
    expect(lock.expiration).toBe(0);
    await lock.release();
  });

  test("refuses a lock that is made from a value, and settings", async () => {
    const redlock = new Redlock(clients);
    const lock = await redlock.acquire([freshKey()], 10_000);
    const copy = new Lock(redlock, lock.resources, lock.value, [], lock.expiration, 1);
    await expect(copy.release()).rejects.toThrow("its value is not enough");
    await expect(copy.extend(10_000)).rejects.toThrow("its value is not enough");
    await expect(redlock.release(lock, {} as never)).rejects.toThrow("release() takes no settings");
    await expect(redlock.extend(lock, 10_000, {} as never)).rejects.toThrow("extend() takes no settings");
    await lock.release();
  });
});

describe("extend()", () => {
  test("resolves with a lock that replaces the first", async () => {
    const first = await new Redlock(clients).acquire([freshKey()], 10_000);
    const second = await first.extend(20_000);
    expect(second).toMatchObject({ value: first.value, fence: first.fence, resources: first.resources });
    expect(first.expiration).toBe(0);
    expect(second.expiration).toBeGreaterThan(Date.now() + 10_000);
    await expect(first.extend(10_000)).rejects.toThrow("Cannot extend an already-expired lock.");
    await second.release();
  });

  test("refuses a duration that would shorten the lock", async () => {
    const lock = await new Redlock(clients).acquire([freshKey()], 10_000);
    await expect(lock.extend(5_000)).rejects.toThrow("5000 ms would shorten the lock");
    await (await lock.extend(10_000)).release();
  });
});

describe("using()", () => {
  const settings = { automaticExtensionThreshold: 4_800 };

  test("extends the lock while the routine runs, and releases it", async () => {
    const key = freshKey();
    const redlock = new Redlock(clients);
    const result = await redlock.using([key], 5_000, settings, async (signal, context) => {
      const { value } = context.lock;
      await expect.poll(() => context.extensions).toBeGreaterThan(2);
      expect(signal.aborted).toBe(false);
      expect(signal.error).toBeUndefined();
      expect(context.lock.value).toBe(value);
      expect(await valuesOf(clients, key)).toEqual([value]);
      return "done";
    });
    expect(result).toBe("done");
    await expect.poll(() => valuesOf(clients, key)).toEqual([null]);
  });

  test("extends a lock that the routine has extended itself, and takes undefined after the routine", async () => {
    const redlock = new Redlock(clients, settings);
    const using = redlock.using as (...args: unknown[]) => Promise<unknown>;
    const routine = async (signal: AbortSignal, context: RedlockUsingContext): Promise<boolean> => {
      await context.lock.extend(5_000);
      await expect.poll(() => context.extensions).toBeGreaterThan(2);
      return signal.aborted;
    };
    expect(await using.call(redlock, [freshKey()], 5_000, routine, undefined)).toBe(false);
  });

  test("aborts the signal with an error when the lock is lost, and rejects although the routine succeeds", async () => {
    const key = freshKey();
    const using = new Redlock(clients).using([key], 5_000, settings, async (signal) => {
      for (const client of clients) await client.set(key, "other");
      if (!signal.aborted) await new Promise((resolve) => signal.addEventListener("abort", resolve));
      expect(signal.error).toBeInstanceOf(ExecutionError);
    });
    await expect(using).rejects.toMatchObject({ name: "ExecutionError", cause: { code: "LOCK_LOST" } });
  });

  test("rejects with the error of the routine, and releases the lock", async () => {
    const key = freshKey();
    const failing = new Redlock(clients).using([key], 10_000, () => Promise.reject(new Error("no")));
    await expect(failing).rejects.toThrow("no");
    await expect.poll(() => valuesOf(clients, key)).toEqual([null]);
  });

  test("refuses a duration that is not above the threshold, and a routine that is none", async () => {
    const redlock = new Redlock(clients);
    await expect(redlock.using(["r"], 599, async () => {})).rejects.toThrow("at least 100ms greater");
    await expect(redlock.using(["r"], 1_000, {} as never)).rejects.toThrow("routine must be a function");
  });
});

describe("with servers that fail", () => {
  let dead: Redis;
  beforeAll(async () => {
    const stopped = await startServers(1);
    dead = stopped.clients[0] as Redis;
    dead.on("error", () => {});
    await dead.ping();
    await stopped.servers[0]?.stop();
  });

  test("a minority does no harm, and is told by error events", async () => {
    const redlock = new Redlock([...clients.slice(0, 2), dead]);
    const failed = new Promise((resolve) => redlock.once("error", resolve));
    const lock = await redlock.acquire([freshKey()], 10_000);
    expect(await failed).toBeInstanceOf(Error);
    await lock.release();
  });

  test("acquire() rejects if it is the majority", async () => {
    const redlock = new Redlock([dead], { retryCount: 1, retryDelay: 1 });
    const error: ExecutionError = await redlock.acquire(["r"], 10_000).catch((reason) => reason);
    expect(error).toMatchObject({ name: "ExecutionError", cause: { code: "QUORUM_UNREACHABLE" } });
    expect((await error.attempts[1])?.votesAgainst.get(dead)?.message).toContain("not connected");
  });
});

test("quit() closes the clients", async () => {
  const own = servers.map(({ port }) => new Redis({ port }));
  const redlock = new Redlock(own);
  await (await redlock.acquire([freshKey()], 10_000)).release();
  await redlock.quit();
  await expect.poll(() => own.map(({ status }) => status)).toEqual(["end", "end", "end"]);
  await expect(redlock.acquire(["r"], 10_000)).rejects.toMatchObject({ attempts: [], cause: { code: "CLOSED" } });
});
