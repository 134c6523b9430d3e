import type { Lock, Redlock } from "@holdfast/core";
import { describe, expect, it } from "vitest";
import { type World, world } from "../world.ts";

const names = Array.from({ length: 300 }, (_, index) => `r${index}`);
const callsMax = 128;

/** A world of three nodes, each a millisecond away, that counts how many calls are in flight. */
function countedWorld(options?: Parameters<typeof world>[1]): World & { most(): number } {
  const it = world(3, options);
  const { clock } = it;
  let inFlight = 0;
  let most = 0;
  for (const node of it.nodes) {
    node.fault = () => {
      inFlight += 1;
      most = Math.max(most, inFlight);
      clock.deliver(2, () => {
        inFlight -= 1;
      });
      return { requestMs: 1, replyMs: 1 };
    };
  }
  return { ...it, most: () => most / it.nodes.length };
}

const lockEach = (redlock: Redlock): Promise<Lock[]> => Promise.all(names.map((name) => redlock.acquire(name)));
const releaseEach = (locks: readonly Lock[]) => Promise.all(locks.map((lock) => lock.release()));

describe("many locks at once", () => {
  it("acquire() and release() have at most 128 calls in flight", async () => {
    const { clock, redlock, most } = countedWorld();
    const locks = await clock.until(lockEach(redlock));
    expect(most()).toBe(callsMax);
    await clock.until(releaseEach(locks));
    expect(most()).toBe(callsMax);
    expect(clock.pendingTimers).toBe(0);
  });

  it("extend() has at most 128 calls in flight, ahead of attempts, and each counts from its departure", async () => {
    const { clock, redlock, nodes, most } = countedWorld({ ttlMs: 1000 });
    const locks = await clock.until(lockEach(redlock));
    const others = Promise.all(names.map((name) => redlock.acquire(`other ${name}`)));
    const before = nodes[0]?.calls.length ?? 0;
    await clock.until(Promise.all(locks.map((lock) => lock.extend())));
    expect(most()).toBe(callsMax);
    const since = nodes[0]?.calls.slice(before).map(({ method }) => method) ?? [];
    expect(since.slice(0, names.length)).toEqual(names.map(() => "extend"));
    for (const lock of locks) expect(lock.remainingMs()).toBeGreaterThan(970);
    await clock.until(releaseEach([...locks, ...(await clock.until(others))]));
  });

  it("extend() waits for its permit for as long as the lock is valid", async () => {
    const { clock, redlock, nodes } = countedWorld({ ttlMs: 10_000, nodeTimeoutMs: 500 });
    const locks = await clock.until(lockEach(redlock));
    for (const node of nodes) node.fault = () => ({ lose: "request" });
    const extended = Promise.all(locks.map((lock) => lock.extend()));
    await clock.advance(3_000);
    for (const node of nodes) node.fault = () => undefined;
    await clock.until(extended);
    for (const lock of locks) expect(lock.remainingMs()).toBeGreaterThan(0);
    await clock.until(releaseEach(locks));
  });

  it("inspect() has at most 128 calls in flight, and lets releases go first", async () => {
    const { clock, redlock, most } = countedWorld();
    const lock = await clock.until(redlock.acquire("mine"));
    const inspections = Promise.all(names.map((name) => redlock.inspect(name)));
    const beganMs = clock.monotonicMs();
    await clock.until(lock.release());
    expect(clock.monotonicMs() - beganMs).toBeLessThanOrEqual(4);
    for (const { state } of await clock.until(inspections)) expect(state).toBe("free");
    expect(most()).toBe(callsMax);
    expect(clock.pendingTimers).toBe(0);
  });

  it.each(["tryAcquire", "acquire", "inspect"] as const)(
    "%s() without waiting settles within twice the node timeout, also while it waits for a permit",
    async (method) => {
      const { clock, redlock, nodes } = world(3, { waitTimeoutMs: 0, nodeTimeoutMs: 100 });
      for (const node of nodes) node.fault = () => ({ lose: "request" });
      const calls = Array.from({ length: 3000 }, (_, index) => redlock[method](`r${index}`));
      const outcomes = await clock.until(Promise.allSettled<unknown>(calls), 200);
      const last = outcomes.at(-1);
      if (method === "inspect") {
        expect(last).toMatchObject({ value: { state: "unknown" } });
      } else {
        expect(last).toMatchObject({ reason: { code: "QUORUM_UNREACHABLE" } });
        const message = "waited 100 ms for 128 other operations of this process";
        expect(last).toMatchObject({ reason: { message: expect.stringContaining(message) } });
      }
      expect(clock.pendingTimers).toBe(0);
    },
  );

  it("a node that does not answer costs the others nothing, owes hundreds of replies, and is of use again later", async () => {
    const { clock, redlock, nodes } = countedWorld();
    const [, , silent] = nodes as [unknown, unknown, (typeof nodes)[number]];
    const before = silent.calls.length;
    const { fault } = silent;
    silent.fault = () => ({ lose: "request" });
    for (let round = 0; round < 10; round++) await clock.until(releaseEach(await clock.until(lockEach(redlock))));
    expect(clock.monotonicMs()).toBeLessThan(500);
    expect(silent.calls.length - before).toBeLessThanOrEqual(1024 + 2);
    const sent = silent.calls.slice(before);
    const claimed = new Set(sent.filter(({ method }) => method === "acquire").map(({ request }) => request.owner));
    const released = new Set(sent.filter(({ method }) => method === "release").map(({ request }) => request.owner));
    expect(released).toEqual(claimed);
    silent.fault = fault;
    await clock.advance(1_000);
    await clock.until(releaseEach([await clock.until(redlock.acquire("r0"))]));
    const locks = await clock.until(lockEach(redlock));
    await clock.advance(10);
    for (const { owner, resources } of locks) {
      expect((await clock.until(Promise.resolve(silent.inspect?.(resources[0] as string)))) ?? {}).toMatchObject({
        owner,
      });
    }
    await clock.until(releaseEach(locks));
  });

  it("acquire() measures the validity from the request, not from the call", async () => {
    const { clock, redlock } = countedWorld({ ttlMs: 1000 });
    const locks = await clock.until(lockEach(redlock));
    for (const lock of locks) expect(lock.remainingMs()).toBeGreaterThan(900);
    await clock.until(releaseEach(locks));
  });

  it("acquire() gives up on its signal while it waits for a permit", async () => {
    const { clock, redlock, nodes } = countedWorld();
    const controller = new AbortController();
    const held = names.map((name) => redlock.acquire(name, { signal: controller.signal }));
    controller.abort(new Error("enough"));
    for (const outcome of await clock.until(Promise.allSettled(held))) {
      expect(outcome).toMatchObject({ status: "rejected", reason: { message: "enough" } });
    }
    expect(nodes[0]?.calls.filter(({ method }) => method === "acquire")).toHaveLength(callsMax);
    expect(clock.pendingTimers).toBe(0);
    const lock = await clock.until(redlock.acquire("r0"));
    await clock.until(lock.release());
  });

  it("release() hands each lock to its waiter, under its own permit", async () => {
    const { clock, redlock, most } = countedWorld();
    const locks = await clock.until(lockEach(redlock));
    const heirs = lockEach(redlock);
    await clock.advance(10);
    await clock.until(releaseEach(locks));
    await clock.until(releaseEach(await clock.until(heirs)));
    await clock.until(releaseEach(await clock.until(lockEach(redlock))));
    expect(most()).toBe(callsMax);
    expect(clock.pendingTimers).toBe(0);
  });

  it("acquire() times out while it waits for a permit and no node replies", async () => {
    const { clock, redlock, nodes } = world(3, { waitTimeoutMs: 1000 });
    for (const node of nodes) node.fault = () => ({ lose: "request" });
    const calls = names.map((name) => redlock.acquire(name));
    const outcomes = await clock.until(Promise.allSettled(calls), 1050);
    for (const outcome of outcomes) expect(outcome).toMatchObject({ status: "rejected" });
    expect(clock.monotonicMs()).toBeLessThanOrEqual(1050);
    for (const node of nodes) node.fault = () => undefined;
    const locks = await clock.until(lockEach(redlock));
    await clock.until(releaseEach(locks));
    expect(clock.pendingTimers).toBe(0);
  });
});
