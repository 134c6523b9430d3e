import type { Lock, Redlock } from "@holdfast/core";
import { describe, expect, it } from "vitest";
import { type World, world } from "./world.ts";

const names = Array.from({ length: 300 }, (_, index) => `r${index}`);
const questionsMax = 128;

/** A world of three nodes, each a millisecond away, that counts how many questions are under way. */
function countedWorld(options?: Parameters<typeof world>[1]): World & { most(): number } {
  const it = world(3, options);
  const { clock } = it;
  let underWay = 0;
  let most = 0;
  for (const node of it.nodes) {
    node.fault = () => {
      underWay += 1;
      most = Math.max(most, underWay);
      clock.deliver(2, () => {
        underWay -= 1;
      });
      return { requestMs: 1, replyMs: 1 };
    };
  }
  return { ...it, most: () => most / it.nodes.length };
}

const lockEach = (redlock: Redlock): Promise<Lock[]> => Promise.all(names.map((name) => redlock.acquire(name)));
const releaseEach = (locks: readonly Lock[]) => Promise.all(locks.map((lock) => lock.release()));

describe("many locks at once", () => {
  it("are asked for by no more than 128 at a time, and released so", async () => {
    const { clock, redlock, most } = countedWorld();
    const locks = await clock.until(lockEach(redlock));
    expect(most()).toBe(questionsMax);
    await clock.until(releaseEach(locks));
    expect(most()).toBe(questionsMax);
    expect(clock.pendingTimers).toBe(0);
  });

  it("are tried for by no more than 128 at a time, and in their order", async () => {
    const { clock, redlock, nodes, most } = countedWorld();
    const locks = await clock.until(Promise.all(names.map((name) => redlock.tryAcquire(name))));
    expect(most()).toBe(questionsMax);
    expect(locks).not.toContain(null);
    expect(nodes[0]?.calls.map(({ request }) => request.resources[0])).toEqual(names);
    await clock.until(releaseEach(locks as Lock[]));
  });

  it("have validity from when they are asked for, not from the call", async () => {
    const { clock, redlock } = countedWorld({ ttlMs: 1000 });
    const locks = await clock.until(lockEach(redlock));
    for (const lock of locks) expect(lock.remainingMs()).toBeGreaterThan(900);
    await clock.until(releaseEach(locks));
  });

  it("are given up while held back", async () => {
    const { clock, redlock, nodes } = countedWorld();
    const controller = new AbortController();
    const held = names.map((name) => redlock.acquire(name, { signal: controller.signal }));
    controller.abort(new Error("enough"));
    for (const outcome of await clock.until(Promise.allSettled(held))) {
      expect(outcome).toMatchObject({ status: "rejected", reason: { message: "enough" } });
    }
    expect(nodes[0]?.calls.filter(({ method }) => method === "acquire")).toHaveLength(questionsMax);
    expect(clock.pendingTimers).toBe(0);
    const lock = await clock.until(redlock.acquire("r0"));
    await clock.until(lock.release());
  });

  it("are each handed to who waits for them", async () => {
    const { clock, redlock } = countedWorld();
    const locks = await clock.until(lockEach(redlock));
    const heirs = lockEach(redlock);
    await clock.advance(10);
    await clock.until(releaseEach(locks));
    await clock.until(releaseEach(await clock.until(heirs)));
    expect(clock.pendingTimers).toBe(0);
  });

  it("pass their turn on when they are given up just as it comes", async () => {
    const controllers = names.map(() => new AbortController());
    const { clock, redlock } = countedWorld({
      observer: {
        attemptSettled({ resources: [name] }) {
          const index = names.indexOf(name as string);
          if (index < questionsMax) controllers[index + questionsMax]?.abort(new Error("enough"));
        },
      },
    });
    const calls = names.map((name, index) => redlock.acquire(name, { signal: controllers[index]?.signal }));
    const outcomes = await clock.until(Promise.allSettled(calls));
    const locks = outcomes.flatMap((outcome) => (outcome.status === "fulfilled" ? outcome.value : []));
    expect(locks).toHaveLength(names.length - questionsMax);
    await clock.until(releaseEach(locks));
    expect(clock.pendingTimers).toBe(0);
  });

  it("give up in time though held back, when no node answers", async () => {
    const { clock, redlock, nodes } = world(3, { waitTimeoutMs: 1000 });
    for (const node of nodes) node.fault = () => ({ lose: "request" });
    const calls = Array.from({ length: 1000 }, (_, index) => redlock.acquire(`r${index}`));
    const outcomes = await clock.until(Promise.allSettled(calls), 1050);
    for (const outcome of outcomes) expect(outcome).toMatchObject({ status: "rejected" });
    expect(clock.monotonicMs()).toBeLessThanOrEqual(1050);
    for (const node of nodes) node.fault = () => undefined;
    const locks = await clock.until(lockEach(redlock));
    await clock.until(releaseEach(locks));
    expect(clock.pendingTimers).toBe(0);
  });

  it("come one after another, whoever comes between", async () => {
    const { clock, redlock, most, nodes } = countedWorld();
    const work = async (name: string): Promise<void> => {
      for (let round = 0; round < 3; round++) await (await redlock.acquire(`${name}:${round}`)).release();
    };
    await clock.until(Promise.all(names.map(work)));
    expect(most()).toBe(questionsMax);
    const asked = nodes[0]?.calls.filter(({ method }) => method === "acquire") ?? [];
    const first = asked.slice(0, names.length).map(({ request }) => request.resources[0]);
    expect(first).toEqual(names.map((name) => `${name}:0`));
  });

  it("fail together, and in bounded time, when no node answers", async () => {
    const { clock, redlock, nodes } = world(3, { waitTimeoutMs: 0 });
    for (const node of nodes) node.fault = () => ({ lose: "request" });
    const outcomes = await clock.until(Promise.allSettled(names.map((name) => redlock.acquire(name))), 1000);
    for (const outcome of outcomes) expect(outcome).toMatchObject({ reason: { code: "QUORUM_UNREACHABLE" } });
    expect(clock.pendingTimers).toBe(0);
  });
});
