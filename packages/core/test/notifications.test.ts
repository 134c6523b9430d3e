import type { Lock, Redlock, RedlockOptions } from "@holdfast/core";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { claimOf, world } from "./world.ts";

afterEach(() => {
  vi.restoreAllMocks();
});

/** No back-off that could be mistaken for a notification: each lasts almost five seconds. */
const patient: RedlockOptions = {
  retryDelayMs: 5000,
  retryDelayMaxMs: 5000,
  waitTimeoutMs: 60_000,
  nodeTimeoutMs: 500,
};

describe("notifications", () => {
  beforeEach(() => {
    vi.spyOn(Math, "random").mockReturnValue(0.999);
  });

  it("a release by another process is followed by the next lock within two round trips", async () => {
    const { redlock, clock, nodes, rival } = world(5, patient);
    const other = await rival().acquire("r");
    for (const node of nodes) {
      node.fault = () => ({ requestMs: 10, replyMs: 10 });
      node.announcement = (deliver) => clock.deliver(10, deliver);
    }
    const pending = redlock.acquire("r");
    await clock.advance(1000);
    await other.release();
    await clock.until(pending);
    expect(clock.monotonicMs()).toBe(1000 + 10 + 20);
  });

  it("a release that is announced while an attempt is under way counts for the time after it", async () => {
    const { redlock, clock, nodes, node, rival } = world(3, patient);
    const other = await rival().acquire("r");
    for (const each of nodes) each.fault = () => ({ requestMs: 10, replyMs: 100 });
    const pending = redlock.acquire("r");
    // The first attempt is denied at 10 and lost at 110; the watches stand at 220, and the second attempt is denied at 230.
    await clock.advance(250);
    expect(node("a").callsOf("acquire")).toHaveLength(2);
    await other.release();
    await clock.until(pending);
    expect(clock.monotonicMs()).toBe(330 + 110);
  });

  it("an attempt waits a moment for a quorum of nodes to announce the release, and is made as soon as they have", async () => {
    const { redlock, clock, inner, node } = world(5, patient);
    const claim = { resources: ["r"], owner: "rival", ttlMs: 60_000, fenceHint: 1, timeoutMs: 50 };
    for (const each of inner) await each.acquire(claim);
    const pending = redlock.acquire("r");
    await clock.advance(100);
    const attempts = node("a").callsOf("acquire").length;
    for (const each of inner.slice(0, 2)) await each.release(claim);
    await clock.advance(2);
    expect(node("a").callsOf("acquire")).toHaveLength(attempts);
    await inner[2]?.release(claim);
    await clock.until(pending);
    expect(clock.monotonicMs()).toBe(102);
    expect(node("a").callsOf("acquire")).toHaveLength(attempts + 1);
  });

  it("a watch that failed is tried again after the next attempt", async () => {
    const { redlock, clock, nodes, rival } = world(3, { ...patient, retryDelayMs: 100, retryDelayMaxMs: 5000 });
    const failed = new Set<string>();
    for (const node of nodes) {
      const watch = node.watch as NonNullable<typeof node.watch>;
      node.watch = async (...args) => {
        if (failed.has(node.name)) return watch(...args);
        failed.add(node.name);
        throw new Error("no");
      };
    }
    const other = await rival().acquire("r");
    const pending = redlock.acquire("r");
    await clock.advance(1000); // it has tried again, and watches
    await other.release();
    await clock.until(pending);
    expect(clock.monotonicMs()).toBe(1000);
  });

  it("after a vote that was split, a process that watches tries again soon: no release will be announced", async () => {
    const { redlock, clock, nodes, inner, node, rival } = world(4, {
      ...patient,
      retryDelayMs: 10,
      retryDelayMaxMs: 5000,
    });
    const other = await rival().acquire("r");
    const pending = redlock.acquire("r");
    await clock.advance(100); // it watches
    for (const each of nodes) each.announcement = () => {};
    await other.release();
    for (const each of inner.slice(2)) await each.acquire(claimOf("split", "r", 60_000));
    const before = node("a").callsOf("acquire").length;
    while (node("a").callsOf("acquire").length === before) await clock.advance(1); // the back-off of a process that watches
    for (const each of inner.slice(2)) await each.release({ ...claimOf("split", "r"), undo: true });
    const beganMs = clock.monotonicMs();
    await clock.until(pending);
    expect(clock.monotonicMs() - beganMs).toBeLessThan(200);
  });

  it("a resource is left to a process that was named, and is gone, for no longer than any other delay", async () => {
    const { redlock, clock, inner, rival } = world(3, { retryDelayMs: 5, retryDelayMaxMs: 20, waitTimeoutMs: 60_000 });
    const other = await rival().acquire("r");
    const pending = redlock.acquire("r");
    await clock.advance(100); // it watches
    await other.release();
    const lock = await clock.until(pending);
    for (const node of inner) await node.acquire({ ...claimOf("gone", "r"), waiter: "gone" });
    const next = redlock.acquire("r");
    await clock.advance(60); // too long to be handed over
    await clock.until(lock.release());
    await clock.until((await clock.until(next)).release());
    expect(clock.monotonicMs()).toBeLessThanOrEqual(100 + 60 + 20 + 1);
  });

  it("a lost notification costs at most one back-off", async () => {
    const { redlock, clock, nodes, rival } = world(3, { ...patient, retryDelayMaxMs: 5000 });
    for (const node of nodes) node.announcement = () => {};
    const other = await rival().acquire("r");
    const pending = redlock.acquire("r");
    await clock.advance(1000);
    await other.release();
    await clock.until(pending);
    expect(clock.monotonicMs()).toBeLessThanOrEqual(1000 + 5000);
  });

  it("a waiter that gives up makes nobody ask the nodes who stands before it", async () => {
    const it = world(3, patient);
    const other = await it.rival().acquire("r");
    const first = it.redlock.acquire("r");
    await it.clock.advance(100);
    const asked = it.node("a").callsOf("acquire").length;
    for (let count = 0; count < 100; count += 1) {
      const behind = it.redlock.acquire("r", { waitTimeoutMs: 10 });
      await expect(it.clock.until(behind)).rejects.toMatchObject({ code: "WAIT_TIMEOUT" });
    }
    expect(it.node("a").callsOf("acquire").length).toBe(asked);
    await it.clock.until(other.release());
    await it.clock.until((await it.clock.until(first)).release());
  });

  it("a process that its own release names loses no time", async () => {
    const it = world(3, patient);
    const other = await it.rival().acquire("r");
    const waiting = it.redlock.acquire("r");
    await it.clock.advance(20); // it stands in the lines, and watches
    for (const node of it.nodes) node.fault = () => ({ requestMs: 2, replyMs: 2 });
    const released = other.release();
    const passing = it.redlock.tryAcquire("r"); // asks at the same time, and is first
    await it.clock.until(released);
    const lock = await it.clock.until(passing);
    await it.clock.advance(100); // too long to be handed over
    const beganMs = it.clock.monotonicMs();
    await it.clock.until(lock?.release() ?? Promise.reject(new Error("it was not first")));
    await it.clock.until((await it.clock.until(waiting)).release());
    expect(it.clock.monotonicMs() - beganMs).toBeLessThan(50);
  });

  it("the turn of a process that is gone costs the others at most one back-off", async () => {
    const { redlock, clock, inner, rival } = world(3, { waitTimeoutMs: 60_000 });
    const other = await rival().acquire("r");
    for (const node of inner) {
      const claim = { resources: ["r"], owner: "gone", ttlMs: 1000, fenceHint: 1, timeoutMs: 50, waiter: "gone" };
      await node.acquire(claim);
    }
    const pending = redlock.acquire("r");
    await clock.advance(1000);
    await other.release();
    await clock.until(pending);
    expect(clock.monotonicMs()).toBeLessThanOrEqual(1000 + 400 + 26);
  });

  it("a process in which many wait lets another have the lock after a while", async () => {
    const { redlock, clock, rival } = world(3, { waitTimeoutMs: 60_000 });
    let isOver = false;
    const work = Array.from({ length: 5 }, async () => {
      while (!isOver) {
        const lock = await redlock.acquire("r");
        await new Promise<void>((resolve) => clock.deliver(10, resolve));
        await lock.release();
      }
    });
    await clock.advance(200);
    const other = await clock.until(rival({ waitTimeoutMs: 60_000 }).acquire("r"));
    expect(clock.monotonicMs()).toBeLessThanOrEqual(200 + 2 * 60);
    isOver = true;
    await clock.until(other.release());
    await clock.until(Promise.all(work));
  });

  it("watches end a second after the process has last held or wanted the resource", async () => {
    const { redlock, clock, nodes, rival } = world(3, { waitTimeoutMs: 60_000 });
    let open = 0;
    for (const node of nodes) {
      const watch = node.watch as NonNullable<typeof node.watch>;
      node.watch = async (...args) => {
        const unwatch = await watch(...args);
        open += 1;
        return async () => {
          open -= 1;
          await unwatch();
        };
      };
    }
    const use = async (locker: Redlock, lock: Promise<Lock>): Promise<void> => {
      expect(locker).toBeDefined();
      await (await lock).release();
    };
    await clock.until(use(redlock, redlock.acquire("r")));
    expect(open).toBe(0);
    const other = await rival().acquire("r");
    const pending = redlock.acquire("r");
    await clock.advance(100);
    expect(open).toBe(3);
    await other.release();
    await clock.until(use(redlock, pending));
    await clock.advance(999);
    expect(open).toBe(3);
    await clock.advance(1);
    expect(open).toBe(0);
    expect(clock.pendingTimers).toBe(0);
  });

  it("an attempt that has failed announces nothing: nobody is kept waiting by it", async () => {
    const { redlock, clock, nodes, inner, rival } = world(3);
    const other = await rival().acquire("r");
    const heard: string[] = [];
    await inner[0]?.watch(["r"], (resource) => heard.push(resource));
    await other.release();
    await clock.advance(1);
    expect(heard).toHaveLength(1);
    for (const node of nodes.slice(1)) node.fault = () => ({ reject: new Error("down") });
    await clock.until(redlock.tryAcquire("r").catch(() => {}));
    await clock.advance(1);
    expect(heard).toHaveLength(1);
  });
});
