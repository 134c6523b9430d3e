import { Redlock } from "@holdfast/core";
import { type Permits, type Semaphore, semaphore } from "@holdfast/core/semaphore";
import type { FaultyNode } from "@holdfast/testkit";
import { describe, expect, test, vi } from "vitest";
import { countWatches, type World, world } from "../world.ts";

/** A world whose first client has a network with a round trip of 4 ms. The clients given are in other processes. */
function slowWorld(): World {
  const made = world(3);
  for (const node of made.nodes) node.fault = () => ({ requestMs: 2, replyMs: 2 });
  return made;
}

describe("acquire() waits", () => {
  test("and takes a permit a round trip after another process has released one", async () => {
    vi.spyOn(Math, "random").mockReturnValue(0.999); // no poll happens to come just before the notification
    const { redlock, clock, otherClient } = slowWorld();
    const there = semaphore(otherClient(), "api", 5);
    const held = await clock.until(Promise.all([1, 2, 3, 4, 5].map(() => there.acquire(1, { autoExtend: true }))));
    const waiting = semaphore(redlock, "api", 5).acquire(1, { waitTimeoutMs: 60_000 });
    await clock.advance(5_000);
    await clock.until((held[3] as Permits).release());
    const releasedAtMs = clock.monotonicMs();
    const permits = await clock.until(waiting);
    expect(permits.slots[0]?.slot).toBe(held[3]?.slots[0]?.slot);
    expect(clock.monotonicMs() - releasedAtMs).toBe(4);
  });

  test("and takes a permit once a quorum of each set has announced its release, while servers change", async () => {
    vi.spyOn(Math, "random").mockReturnValue(0.999);
    const { clock, nodes } = world(4);
    const [a, b, c, d] = nodes as [FaultyNode, FaultyNode, FaultyNode, FaultyNode];
    const sets = { old: [a, b, c], new: [a, b, d] };
    const client = (): Redlock => new Redlock(sets, { clock, nodeTimeoutMs: 50 });
    for (const node of [a, b]) node.fault = () => ({ requestMs: 2, replyMs: 2 });
    for (const node of [c, d]) node.fault = () => ({ reject: new Error("down") });
    for (const node of [c, d]) node.watch = () => Promise.reject(new Error("down"));
    const held = await clock.until(semaphore(client(), "api", 1).acquire(1, { autoExtend: true }));
    const waiting = semaphore(client(), "api", 1).acquire(1, { waitTimeoutMs: 60_000 });
    await clock.advance(5_000);
    await clock.until(held.release());
    const releasedAtMs = clock.monotonicMs();
    await clock.until(waiting);
    expect(clock.monotonicMs() - releasedAtMs).toBe(2); // the release takes as long to return
  });

  test("in turn within a process", async () => {
    const { redlock, clock } = slowWorld();
    const api = semaphore(redlock, "api", 2);
    const first = await clock.until(api.acquire(2));
    const served: number[] = [];
    const calls = [0, 1, 2, 3, 4, 5, 6, 7].map(async (index) => {
      const permits = await api.acquire(1, { waitTimeoutMs: 60_000, autoExtend: true });
      served.push(index);
      await new Promise<void>((resolve) => void clock.startTimer(20, resolve));
      await permits.release();
    });
    await clock.advance(100);
    await clock.until(first.release());
    await clock.until(Promise.all(calls));
    expect(served).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  });

  test("as long as it takes on nodes that announce nothing", async () => {
    const { redlock, clock, nodes, otherClient } = slowWorld();
    for (const node of nodes) delete node.watch;
    const held = await clock.until(semaphore(otherClient(), "api", 5).acquire(5, { autoExtend: true }));
    const waiting = semaphore(redlock, "api", 5).acquire(2, { waitTimeoutMs: 60_000 });
    await clock.advance(5_000);
    await clock.until(held.release());
    const releasedAtMs = clock.monotonicMs();
    await clock.until(waiting);
    expect(clock.monotonicMs() - releasedAtMs).toBeLessThan(150);
  });

  test("through an outage, and rejects with a QuorumUnreachableError if that lasts", async () => {
    const { redlock, clock, nodes } = slowWorld();
    const api = semaphore(redlock, "api", 2);
    const outage = () => ({ reject: new Error("down") });
    for (const node of nodes) node.fault = outage;
    await expect(clock.until(api.acquire(1, { waitTimeoutMs: 2_000 }))).rejects.toThrow("0 of 3 nodes granted");
    const waiting = api.acquire(2, { waitTimeoutMs: 60_000 });
    await clock.advance(5_000);
    for (const node of nodes) node.fault = () => undefined;
    expect((await clock.until(waiting)).slots).toHaveLength(2);
  });
});

describe("a call for several permits", () => {
  test("is served among a stream of calls for one, from this process and another", async () => {
    const { redlock, clock, otherClient } = slowWorld();
    let isOver = false;
    let served = 0;
    const busy = async (api: Semaphore): Promise<void> => {
      while (!isOver) {
        const permits = await api.acquire(1, { waitTimeoutMs: Infinity });
        served += 1;
        await new Promise<void>((resolve) => void clock.startTimer(10 + Math.random() * 10, resolve));
        await permits.release();
      }
    };
    const other = otherClient();
    const [here, there] = [semaphore(redlock, "api", 4), semaphore(other, "api", 4)];
    const workers = [here, here, here, here, there, there, there, there].map(busy);
    await clock.advance(1_000);
    const before = served;
    const all = await clock.until(here.acquire(4, { waitTimeoutMs: Infinity }), 20_000);
    expect(served - before).toBeLessThan(400);
    expect(all.slots).toHaveLength(4);
    await clock.until(all.release());
    isOver = true;
    await clock.until(Promise.all(workers));
  });

  test("keeps what it has while it waits, even past the ttl, and returns it fresh", async () => {
    const { redlock, clock, otherClient } = slowWorld();
    const there = await clock.until(semaphore(otherClient(), "api", 2).acquire(1, { autoExtend: true }));
    const api = semaphore(redlock, "api", 2, { ttlMs: 1_000 });
    const waiting = api.acquire(2, { waitTimeoutMs: 60_000, autoExtend: false });
    await clock.advance(10_000);
    expect(await clock.until(semaphore(otherClient(), "api", 2).tryAcquire())).toBeNull();
    await clock.until(there.release());
    const permits = await clock.until(waiting);
    expect(permits.remainingMs()).toBeGreaterThan(850);
    await clock.advance(1_000);
    expect(permits.remainingMs()).toBe(0);
  });
});

describe("a caller that has its turn", () => {
  test("gives the slots back that it has won, and waits again, when it is paused past its ttl", async () => {
    const { redlock, clock, otherClient } = slowWorld();
    const other = semaphore(otherClient(), "api", 3);
    const held = await clock.until(other.acquire(2, { autoExtend: true }));
    const waiting = semaphore(redlock, "api", 3, { ttlMs: 1_000 }).acquire(3, { waitTimeoutMs: Infinity });
    await clock.advance(500);
    await clock.stall(3_000); // this process runs no timer, and all its claims expire
    const next = other.acquire(1, { waitTimeoutMs: Infinity });
    await clock.advance(0);
    await clock.until(held.release());
    await clock.until((await clock.until(next)).release());
    expect((await clock.until(waiting)).slots).toHaveLength(3);
  });

  test("is replaced after its ttl when it dies", async () => {
    const { redlock, clock, otherClient, nodes } = slowWorld();
    const other = semaphore(otherClient(), "api", 1);
    const held = await clock.until(other.acquire(1, { autoExtend: true }));
    const dead = semaphore(redlock, "api", 1, { ttlMs: 1_000 }).acquire(1, { waitTimeoutMs: 3_000 });
    dead.catch(() => {});
    await clock.advance(200);
    for (const node of nodes) node.fault = () => ({ lose: "request" });
    const diedAtMs = clock.monotonicMs();
    const waiting = other.acquire(1, { waitTimeoutMs: Infinity });
    await clock.until(held.release());
    await clock.until(waiting);
    expect(clock.monotonicMs() - diedAtMs).toBeLessThan(1_500);
    await clock.until(dead.catch(() => {}));
  });
});

test("acquire() passes a caller of another process that waits at most sixteen times in a row", async () => {
  const { redlock, clock, otherClient } = slowWorld();
  const [slow, fast] = [semaphore(redlock, "api", 1), semaphore(otherClient(), "api", 1)];
  let permits = await clock.until(fast.acquire());
  let isServed = false;
  const waiting = slow.acquire(1, { waitTimeoutMs: Infinity }).then(async (served) => {
    isServed = true;
    await served.release();
  });
  await clock.advance(100);
  let passes = 0;
  // This process takes the slot again before the release can reach the other one.
  for (; !isServed && passes < 100; passes++) {
    await clock.until(permits.release());
    permits = await clock.until(fast.acquire(1, { waitTimeoutMs: Infinity }));
    await clock.advance(1);
  }
  expect(passes).toBeGreaterThan(5);
  expect(passes).toBeLessThanOrEqual(17);
  await clock.until(waiting);
});

test("acquire() of one of thousands of slots finds the only free one", async () => {
  const { redlock, clock, otherClient } = world(1);
  const there = semaphore(otherClient(), "api", 2_000);
  const held = await clock.until(there.acquire(1_999, { ttlMs: 600_000 }));
  const here = semaphore(redlock, "api", 2_000);
  const last = await clock.until(here.acquire());
  const waiting = here.acquire(1, { waitTimeoutMs: Infinity });
  await clock.advance(1_000);
  await clock.until(held.release());
  await clock.until(last.release());
  expect((await clock.until(waiting)).slots).toHaveLength(1);
});

test("acquire() leaves no timer and no watch behind", async () => {
  const { redlock, clock, nodes, otherClient } = world(3);
  const watches = countWatches(nodes);
  const held = await clock.until(semaphore(otherClient(), "api", 2).acquire(2));
  const waiting = semaphore(redlock, "api", 2).acquire();
  await clock.advance(100);
  expect(watches()).toBe(3);
  await clock.until(held.release());
  await clock.until((await clock.until(waiting)).release());
  await clock.advance(60_000);
  expect(watches()).toBe(0);
  expect(clock.pendingTimers).toBe(0);
});
