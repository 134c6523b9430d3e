import { LockHeldError, LockLostError, Redlock, RedlockClosedError, WaitTimeoutError } from "@holdfast/core";
import { type Permits, semaphore } from "@holdfast/core/semaphore";
import { memoryNode } from "@holdfast/memory";
import { expect, test } from "vitest";
import { steal, world } from "../world.ts";

const slotsOf = (permits: Permits | null): number[] => permits?.slots.map(({ slot }) => slot) ?? [];

test("acquire() holds one slot for each permit, and refuses a further one until a permit is released", async () => {
  const { redlock, clock, otherClient, heldOn } = world(3);
  const here = semaphore(redlock, "api", 3);
  const there = semaphore(otherClient(), "api", 3);
  const two = await clock.until(here.acquire(2));
  const one = await clock.until(there.acquire());
  expect([...slotsOf(two), ...slotsOf(one)].sort()).toEqual([0, 1, 2]);
  for (const { resource, slot } of two.slots) {
    expect(resource).toBe(`sem:api:${slot}`);
    expect(await heldOn(resource)).toEqual(["a", "b", "c"]);
  }
  expect(await clock.until(there.tryAcquire())).toBeNull();
  expect(await clock.until(here.tryAcquire())).toBeNull();
  await clock.until(two.release());
  await clock.until(two.release()); // harmless
  expect(slotsOf(await clock.until(there.tryAcquire(2)))).toEqual(slotsOf(two));
});

test("acquire() takes one round trip to each node when it is uncontended, and tries its last slot first", async () => {
  const { redlock, clock, nodes } = world(3);
  const api = semaphore(redlock, "api", 100);
  const first = await clock.until(api.acquire());
  await clock.until(first.release());
  for (let round = 0; round < 10; round++) {
    const again = await clock.until(api.acquire());
    expect(slotsOf(again)).toEqual(slotsOf(first));
    await clock.until(again.release());
  }
  for (const node of nodes) expect(node.callsOf("acquire")).toHaveLength(11);
});

test("acquire() of several permits tries them all at once", async () => {
  const { redlock, clock, nodes } = world(3);
  for (const node of nodes) node.fault = () => ({ requestMs: 5, replyMs: 5 });
  const permits = await clock.until(semaphore(redlock, "api", 8).acquire(8));
  expect(slotsOf(permits)).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  expect(clock.monotonicMs()).toBe(10);
});

test("acquire() returns permits fresh that took much of their ttl to acquire", async () => {
  const { redlock, clock, nodes } = world(3);
  for (const node of nodes) node.fault = () => ({ requestMs: 20, replyMs: 20 });
  const permits = await clock.until(semaphore(redlock, "api", 600, { ttlMs: 1_000 }).acquire(600));
  expect(clock.monotonicMs()).toBeGreaterThan(400); // rounds of 64 slots
  // Without their extension, which takes five rounds of 128, the first would have less than 600 ms left.
  expect(permits.remainingMs()).toBeGreaterThan(700);
});

test("acquire() rejects with a WaitTimeoutError that counts permits, and keeps nothing", async () => {
  const { redlock, clock, otherClient } = world(3);
  const there = await clock.until(semaphore(otherClient(), "api", 3).acquire(2, { autoExtend: true }));
  const api = semaphore(redlock, "api", 3);
  const waiting = clock.until(api.acquire(2, { waitTimeoutMs: 500 }));
  await expect(waiting).rejects.toThrow(WaitTimeoutError);
  await expect(waiting).rejects.toThrow("could not acquire 2 permits of api within 500 ms: 1 of 3 free");
  await expect(clock.until(api.acquire(2, { waitTimeoutMs: 0 }))).rejects.toThrow(LockHeldError);
  await clock.until(there.release());
  expect(await clock.until(api.tryAcquire(3))).not.toBeNull();
});

test("acquire() rejects with the reason of its signal, at any moment, and keeps nothing", async () => {
  for (let abortAtMs = 0; abortAtMs < 120; abortAtMs += 3) {
    const { redlock, clock, otherClient, nodes, heldOn } = world(3);
    for (const node of nodes) node.fault = () => ({ requestMs: 4, replyMs: 4 });
    const other = semaphore(otherClient(), "api", 3);
    const there = await clock.until(other.acquire(3));
    const controller = new AbortController();
    const waiting = semaphore(redlock, "api", 3).acquire(2, { signal: controller.signal });
    const settled = waiting.then(
      (permits) => permits.release(),
      (error) => expect(error).toBe("never mind"),
    );
    await clock.advance(40);
    await clock.until(there.release());
    await clock.advance(abortAtMs);
    controller.abort("never mind");
    await clock.until(settled);
    await clock.advance(100);
    expect(await clock.until(other.tryAcquire(3))).not.toBeNull();
    expect(await heldOn("sem:api:turn")).toEqual([]);
  }
});

test("acquire() rejects if it is aborted while it extends its first slot, as the last one took long", async () => {
  const { redlock, clock, nodes, heldOn } = world(3, { nodeTimeoutMs: 500 });
  for (const node of nodes) {
    node.fault = ({ method }) => {
      if (method !== "acquire") return { replyMs: 10 };
      const tries = node.callsOf("acquire").length;
      return tries === 2 ? { answer: { granted: false } } : { replyMs: tries < 2 ? 0 : 300 };
    };
  }
  const controller = new AbortController();
  const options = { ttlMs: 1_000, signal: controller.signal };
  const settled = semaphore(redlock, "api", 3).acquire(2, options);
  await clock.advance(305);
  expect(nodes.map((node) => node.callsOf("extend").length)).toEqual([1, 1, 1]);
  controller.abort(new Error("never mind"));
  await expect(clock.until(settled)).rejects.toThrow("never mind");
  await clock.advance(500);
  for (const slot of [0, 1, 2]) expect(await heldOn(`sem:api:${slot}`)).toEqual([]);
});

test("acquire() rejects at once when its Redlock is closed, and keeps nothing", async () => {
  for (const heldHere of [0, 1, 2]) {
    const { redlock, clock, otherClient, heldOn } = world(3);
    const [here, there] = [redlock, otherClient()].map((client) => semaphore(client, "api", 2));
    if (heldHere > 0) await clock.until(here?.acquire(heldHere, { autoExtend: true }) as Promise<Permits>);
    if (heldHere < 2) await clock.until(there?.acquire(1, { autoExtend: true }) as Promise<Permits>);
    const heldBefore = await Promise.all(["sem:api:0", "sem:api:1"].map(heldOn));
    const options = { waitTimeoutMs: Infinity };
    const waiting = [2, 2, 2].map((count) => here?.acquire(count, options));
    let rejected = 0;
    for (const call of waiting) {
      call?.catch((error) => {
        expect(error).toBeInstanceOf(RedlockClosedError);
        rejected += 1;
      });
    }
    await clock.advance(1_000);
    await clock.until(redlock.close());
    await clock.advance(0);
    expect(rejected).toBe(3);
    await expect(here?.tryAcquire()).rejects.toThrow(RedlockClosedError);
    expect(await heldOn("sem:api:turn")).toEqual([]);
    expect(await Promise.all(["sem:api:0", "sem:api:1"].map(heldOn))).toEqual(heldBefore);
  }
});

test("acquire() that keeps slots while it waits ends in time although no node replies", async () => {
  const ends = { abort: "never mind", timeout: "could not", close: "the Redlock is closed" };
  for (const [end, message] of Object.entries(ends)) {
    const { redlock, clock, otherClient, nodes } = world(3);
    await clock.until(semaphore(otherClient(), "api", 2).acquire(1, { autoExtend: true }));
    const controller = new AbortController();
    const waitTimeoutMs = end === "timeout" ? 6_000 : 60_000;
    const waiting = semaphore(redlock, "api", 2).acquire(2, { waitTimeoutMs, signal: controller.signal });
    waiting.catch(() => {});
    await clock.advance(4_000);
    for (const node of nodes) node.fault = () => ({ lose: "request" });
    await clock.advance(2_000); // half of the validity has passed, and the slot is being extended
    if (end === "abort") controller.abort(new Error("never mind"));
    if (end === "close") void redlock.close();
    await expect(clock.until(waiting, 200)).rejects.toThrow(message);
  }
});

test("signal aborts when any of the permits is lost, and release() ends the others", async () => {
  const { redlock, clock, events, inner, heldOn } = world(3);
  const lost: unknown[] = [];
  const observer = { lost: (event: unknown) => void lost.push(event) };
  const permits = await clock.until(semaphore(redlock, "api", 2, { autoExtend: true, observer }).acquire(2));
  const stolen = permits.slots[1];
  await steal(inner, stolen?.resource ?? "", stolen?.owner ?? "");
  expect(permits.signal.aborted).toBe(false);
  await clock.advance(10_000);
  expect(permits.signal.reason).toBeInstanceOf(LockLostError);
  expect(permits.signal.reason).toMatchObject({ resources: [stolen?.resource] });
  expect(permits.remainingMs()).toBe(0);
  expect(lost).toMatchObject([{ name: "api", slots: permits.slots, error: permits.signal.reason }]);
  await expect(permits.extend()).rejects.toThrow(LockLostError);
  expect(await heldOn(permits.slots[0]?.resource ?? "")).toEqual(["a", "b", "c"]);
  await clock.until(permits.release());
  expect(await heldOn(permits.slots[0]?.resource ?? "")).toEqual([]);
  expect(events.filter(([name]) => name === "lost")).toHaveLength(1);
});

test("remainingMs() and extend() cover all the permits", async () => {
  const { redlock, clock } = world(3);
  const permits = await clock.until(semaphore(redlock, "api", 3, { ttlMs: 1_000 }).acquire(3));
  expect(permits.remainingMs()).toBe(988);
  await clock.advance(500);
  expect(permits.remainingMs()).toBe(488);
  await clock.until(permits.extend());
  expect(permits.remainingMs()).toBe(988);
  await clock.until(permits.extend({ ttlMs: 2_000 }));
  expect(permits.remainingMs()).toBe(1_978);
  await clock.until(permits.release());
  expect(permits.remainingMs()).toBe(0);
});

test("using() extends the permits, releases them, and rejects when one was lost", async () => {
  const { redlock, clock, heldOn, nodes } = world(3);
  const api = semaphore(redlock, "api", 2);
  const after = (ms: number) => new Promise<void>((resolve) => void clock.startTimer(ms, resolve));
  const run = api.using(2, async (permits) => {
    await after(30_000);
    permits.signal.throwIfAborted();
    return slotsOf(permits);
  });
  expect(await clock.until(run)).toEqual([0, 1]);
  expect(await heldOn("sem:api:0")).toEqual([]);
  await expect(clock.until(api.using(() => Promise.reject(new Error("mine"))))).rejects.toThrow("mine");
  expect(await clock.until(api.using(() => 42))).toBe(42);
  const lost = api.using(1, { ttlMs: 1_000 }, async () => {
    for (const node of nodes) node.fault = () => ({ reject: new Error("down") });
    await after(2_000);
  });
  await expect(clock.until(lost)).rejects.toThrow(LockLostError);
});

test("using() extends no permits if the semaphore is not to", async () => {
  const { redlock, clock } = world(3);
  const api = semaphore(redlock, "api", 1, { ttlMs: 1_000, autoExtend: false });
  const long = (): Promise<void> => new Promise<void>((resolve) => void clock.startTimer(2_000, resolve));
  await expect(clock.until(api.using(long))).rejects.toThrow(LockLostError);
  await clock.until(api.using(1, { autoExtend: true }, long));
});

test("semaphore() observers receive each event, and their errors reach nobody", async () => {
  const { redlock, clock } = world(3);
  const events: [string, object][] = [];
  const record = (name: string) => (event: object) => {
    events.push([name, event]);
    throw new Error("a bad observer");
  };
  const observer = {
    acquired: record("acquired"),
    acquireFailed: async (event: object) => record("acquireFailed")(event),
    released: record("released"),
  };
  const api = semaphore(redlock, "api", 2, { observer });
  const permits = await clock.until(api.acquire(2));
  expect(await clock.until(api.tryAcquire())).toBeNull();
  await clock.advance(700);
  await clock.until(permits.release());
  const { slots } = permits;
  expect(events).toMatchObject([
    ["acquired", { name: "api", slots, waitedMs: 0 }],
    ["acquireFailed", { name: "api", wanted: 1, waitedMs: 0, error: expect.any(LockHeldError) }],
    ["released", { name: "api", slots, heldMs: 700, confirmed: true }],
  ]);
});

test("acquire() holds exclusive slots, whatever the mode and the limits of the Redlock", async () => {
  const { redlock, clock } = world(3, { mode: "shared", maxHoldMs: 20_000, waitTimeoutMs: 0 });
  const api = semaphore(redlock, "api", 1);
  const permits = await clock.until(api.acquire());
  expect(await redlock.inspect("sem:api:0")).toMatchObject({ state: "held", mode: "exclusive" });
  expect(await clock.until(api.tryAcquire())).toBeNull();
  const waiting = api.acquire();
  await clock.advance(1_000);
  expect(await redlock.inspect("sem:api:turn")).toMatchObject({ state: "held", mode: "exclusive" });
  await clock.until(permits.release());
  await clock.until(waiting);
});

test("semaphore() refuses bad arguments", async () => {
  const redlock = new Redlock([memoryNode()]);
  const any = (value: unknown) => value as never;
  expect(() => semaphore(any({}), "api", 1)).toThrow("redlock must be an object with the method acquire");
  expect(() => semaphore(redlock, "", 1)).toThrow("name must not be an empty string");
  expect(() => semaphore(redlock, any(1), 1)).toThrow("name must be a string");
  for (const permits of [0, -1, 1.5, any("3"), 10_001])
    expect(() => semaphore(redlock, "api", permits)).toThrow("permits");
  expect(() => semaphore(redlock, "api", 1, any({ mode: "shared" }))).toThrow("mode is not an option of a semaphore");
  expect(() => semaphore(redlock, "api", 1, any({ observer: { lots: () => {} } }))).toThrow("lots is not an option");
  expect(() => semaphore(redlock, "api", 1, any({ observer: 1 }))).toThrow("must be an object");
  expect(() => semaphore(redlock, "api", 1, any({ observer: { lost: 1 } }))).toThrow(
    "observer.lost must be a function",
  );
  const api = semaphore(redlock, "api", 2);
  await expect(api.acquire(0)).rejects.toThrow("count must be a positive integer");
  await expect(api.acquire(3)).rejects.toThrow("count must be at most the 2 permits of api, not 3");
  await expect(api.acquire(1, any({ ttlMss: 1 }))).rejects.toThrow(
    "ttlMss is not an option of permits: did you mean ttlMs",
  );
  await expect(api.acquire(1, { ttlMs: 0 })).rejects.toThrow("ttlMs must be a positive integer");
  await expect(api.acquire(1, { waitTimeoutMs: -1 })).rejects.toThrow("waitTimeoutMs must be at least 0");
  await expect(api.acquire(1, any(5))).rejects.toThrow("the options of permits must be an object");
  await expect(api.using(1, any(null), () => {})).rejects.toThrow("the options of permits must be an object");
  await expect(api.using(any(undefined))).rejects.toThrow("routine must be a function");
  await expect(api.using(1, any({}), any(1))).rejects.toThrow("routine must be a function");
  expect(await api.tryAcquire(2)).not.toBeNull(); // nothing was kept
});

test("semaphore() with more permits admits more at once, and with fewer as soon as the upper slots are free", async () => {
  const { redlock, clock, otherClient } = world(3);
  const [small, large] = [semaphore(redlock, "api", 2), semaphore(otherClient(), "api", 4)];
  const first = await clock.until(small.acquire(2));
  const second = await clock.until(large.acquire(2)); // growing
  expect(slotsOf(second)).toEqual([2, 3]);
  expect(await clock.until(large.tryAcquire())).toBeNull();
  expect(await clock.until(small.tryAcquire())).toBeNull();
  await clock.until(second.release());
  expect(await clock.until(small.tryAcquire())).toBeNull(); // shrinking: the upper slots are no longer used
  await clock.until(first.release());
  expect(slotsOf(await clock.until(small.tryAcquire(2)))).toEqual([0, 1]);
});
