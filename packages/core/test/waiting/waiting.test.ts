import { LockHeldError, Redlock } from "@holdfast/core";
import { describe, expect, it } from "vitest";
import { claimOf, world } from "../world.ts";

describe("waiting", () => {
  it("acquire() gets the lock soon after another process releases it, well before its ttl", async () => {
    const { redlock, clock, otherClient } = world(3);
    const other = await otherClient({ ttlMs: 60_000 }).acquire("r");
    const pending = redlock.acquire("r");
    await clock.advance(2000);
    await other.release();
    await clock.until(pending);
    expect(clock.monotonicMs()).toBeLessThanOrEqual(2000 + 400);
  });

  it("acquire() gets the lock soon after the claim of a dead process expires", async () => {
    const { redlock, clock, inner } = world(3, { waitTimeoutMs: 60_000, retryDelayMaxMs: 30_000 });
    for (const each of inner) {
      await each.acquire({ resources: ["r"], owner: "dead", ttlMs: 20_000, fenceHint: 1, timeoutMs: 50 });
    }
    await clock.until(redlock.acquire("r"));
    expect(clock.monotonicMs()).toBeGreaterThanOrEqual(20_000);
    expect(clock.monotonicMs()).toBeLessThanOrEqual(20_000 + 26);
  });

  it("acquire() gets the lock soon after a claim expires, although the first node hangs", async () => {
    const { redlock, clock, inner, node } = world(3, { waitTimeoutMs: 60_000, retryDelayMaxMs: 30_000 });
    for (const each of inner) await each.acquire(claimOf("dead", "r", 20_000));
    node("a").fault = () => ({ lose: "request" });
    await clock.until(redlock.acquire("r"));
    expect(clock.monotonicMs()).toBeLessThanOrEqual(20_000 + 26);
  });

  it("acquire() serves waiters of one process in order, and only the first sends requests", async () => {
    const { redlock, clock, node, otherClient } = world(3, { waitTimeoutMs: 60_000 });
    const other = await otherClient().acquire("r");
    const order: number[] = [];
    const workers = Array.from({ length: 20 }, async (_, index) => {
      const lock = await redlock.acquire("r");
      order.push(index);
      await lock.release();
    });
    await clock.advance(1000);
    const owners = node("a").callsOf("acquire").length;
    expect(owners).toBeLessThan(25);
    await other.release();
    await clock.until(Promise.all(workers));
    expect(order).toEqual(Array.from({ length: 20 }, (_, index) => index));
  });

  it("acquire() tries immediately when a lock of this process on the resource ends", async () => {
    const { redlock, clock } = world(3, { retryDelayMs: 5000, retryDelayMaxMs: 5000 });
    const lock = await redlock.acquire("r");
    const pending = redlock.acquire("r");
    await clock.advance(1);
    await lock.release();
    await clock.until(pending);
    expect(clock.monotonicMs()).toBe(1);
  });

  it("acquire() of overlapping sets of resources never deadlocks", async () => {
    const { redlock, clock } = world(3, { waitTimeoutMs: 60_000 });
    const pairs = [["a", "b"], ["b", "c"], ["c", "a"], ["a", "b", "c"], ["c"], ["b"], ["a"]];
    const held = new Set<string>();
    const work = Array.from({ length: 10 }, () => pairs).flat();
    const workers = work.map(async (resources) => {
      const lock = await redlock.acquire(resources);
      for (const name of lock.resources) {
        expect(held.has(name)).toBe(false);
        held.add(name);
      }
      await new Promise<void>((resolve) => clock.deliver(3, resolve));
      for (const name of lock.resources) held.delete(name);
      await lock.release();
    });
    await clock.until(Promise.all(workers));
  });

  it("acquire() of one resource succeeds for the holder of another while a waiter wants both", async () => {
    const { redlock, clock } = world(3);
    const outer = await redlock.acquire("a");
    const both = redlock.acquire(["a", "b"]);
    await clock.advance(10);
    const inner = await clock.until(redlock.acquire("b"));
    expect(clock.monotonicMs()).toBe(10);
    await inner.release();
    await outer.release();
    await clock.until(both);
  });

  it("acquire() sends requests only for the first of many overlapping waiters", async () => {
    const { redlock, clock, node } = world(3, { waitTimeoutMs: 60_000 });
    const held = await redlock.acquire("hot");
    const waiting = Array.from({ length: 100 }, async (_, index) => {
      const lock = await redlock.acquire(["hot", `own ${index}`]);
      await lock.release();
    });
    await clock.advance(10);
    await held.release();
    await clock.until(Promise.all(waiting));
    expect(node("a").callsOf("acquire").length).toBeLessThan(2 * 100 + 10);
  });

  it("acquire() of more resources does not pass an earlier waiter for some of them", async () => {
    const { redlock, clock } = world(3);
    const held = await redlock.acquire("a");
    const order: string[] = [];
    const waiting = [["a", "b"], ["c", "b", "a"], ["a"]].map(async (resources, index) => {
      const lock = await redlock.acquire(resources);
      order.push(`${index}`);
      await lock.release();
    });
    await clock.advance(10);
    await held.release();
    await clock.until(Promise.all(waiting));
    expect(order.indexOf("0")).toBeLessThan(order.indexOf("1"));
  });

  it("acquire() that gives up makes room for the next waiter", async () => {
    const { redlock, clock } = world(3, { retryDelayMs: 20, retryDelayMaxMs: 20 });
    const lock = await redlock.acquire("r");
    const controller = new AbortController();
    const first = redlock.acquire("r", { signal: controller.signal });
    const second = redlock.acquire("r");
    await clock.advance(100);
    controller.abort(new Error("changed my mind"));
    await expect(clock.until(first)).rejects.toThrow("changed my mind");
    await lock.release();
    await clock.until(second);
  });

  it("acquire() rejects immediately with the reason of a signal that has already aborted", async () => {
    const { redlock, nodes } = world(3);
    const options = { signal: AbortSignal.abort(new Error("before")) };
    await expect(redlock.acquire("r", options)).rejects.toThrow("before");
    await expect(redlock.tryAcquire("r", options)).rejects.toThrow("before");
    await expect(redlock.using("r", options, () => {})).rejects.toThrow("before");
    expect(nodes.flatMap((each) => each.calls)).toEqual([]);
  });

  it("tryAcquire() rejects with the reason of its signal even if that is a LockHeldError", async () => {
    const { redlock } = world(3);
    const reason = new LockHeldError("could not lock the other one", ["other"]);
    await expect(redlock.tryAcquire("r", { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  });

  it("acquire() behind other waiters of its process times out in time, and says so", async () => {
    const { redlock, clock } = world(3);
    await redlock.acquire("r", { autoExtend: true });
    const first = redlock.acquire("r", { waitTimeoutMs: 60_000 }).catch(() => {});
    const second = redlock.acquire("r", { waitTimeoutMs: 300 });
    await expect(clock.until(second)).rejects.toThrow("could not lock r: waited 300 ms; this process already holds r ");
    expect(clock.monotonicMs()).toBe(300);
    expect(first).toBeDefined();
  });

  it("acquire() refuses to wait when maxWaiters calls are already in progress", async () => {
    const { redlock, clock } = world(3, { maxWaiters: 2 });
    const lock = await redlock.acquire("r");
    const waiting = [redlock.acquire("r"), redlock.acquire("r")];
    await expect(redlock.acquire("r")).rejects.toMatchObject({ code: "QUEUE_FULL", resources: ["r"] });
    await lock.release();
    await (await clock.until(waiting[0] as Promise<typeof lock>)).release();
    await clock.until(waiting[1] as Promise<typeof lock>);
  });

  it("acquire({ waitTimeoutMs: Infinity }) keeps waiting", async () => {
    const { redlock, clock, otherClient } = world(3);
    const other = await otherClient({ ttlMs: 3_600_000 }).acquire("r");
    const pending = redlock.acquire("r", { waitTimeoutMs: Number.POSITIVE_INFINITY });
    await clock.advance(60_000);
    await other.release();
    await clock.until(pending);
  });

  it("acquire() resolves split votes: each of ten clients of an even number of nodes gets the lock", async () => {
    const { clock, nodes, inner } = world(4);
    const clients = Array.from({ length: 10 }, () => new Redlock(nodes, { clock, waitTimeoutMs: 60_000 }));
    for (const [index, each] of nodes.entries()) {
      each.fault = () => ({ requestMs: 1 + ((index * 7) % 5), replyMs: 1 });
    }
    let inside = 0;
    const fences: number[] = [];
    const work = clients.map(async (client) => {
      const lock = await client.acquire("r");
      inside += 1;
      expect(inside).toBe(1);
      fences.push(lock.fence);
      await new Promise<void>((resolve) => clock.deliver(5, resolve));
      inside -= 1;
      await lock.release();
    });
    await clock.until(Promise.all(work));
    expect(fences).toEqual([...fences].sort((a, b) => a - b));
    expect(new Set(fences).size).toBe(10);
    expect(inner).toHaveLength(4);
  });
});
