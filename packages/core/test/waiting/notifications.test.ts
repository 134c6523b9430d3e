import type { RedlockOptions } from "@holdfast/core";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { claimOf, countWatches, world } from "../world.ts";

/** Back-offs of almost five seconds, which cannot be mistaken for a notification. */
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

  it("acquire() gets the lock within two round trips after a release by another process", async () => {
    const { redlock, clock, nodes, otherClient } = world(5, patient);
    const other = await otherClient().acquire("r");
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

  it("acquire() counts a release that is announced during an attempt towards the next one", async () => {
    const { redlock, clock, nodes, node, otherClient } = world(3, patient);
    const other = await otherClient().acquire("r");
    for (const each of nodes) each.fault = () => ({ requestMs: 10, replyMs: 100 });
    const pending = redlock.acquire("r");
    // The first attempt is denied at 10 ms and fails at 110 ms. Watching starts at 220 ms. The second attempt is denied
    // at 230 ms.
    await clock.advance(250);
    expect(node("a").callsOf("acquire")).toHaveLength(2);
    await other.release();
    await clock.until(pending);
    expect(clock.monotonicMs()).toBe(330 + 110);
  });

  it("acquire() tries as soon as a quorum of nodes has announced the release", async () => {
    const { redlock, clock, inner, node } = world(5, patient);
    const claim = { resources: ["r"], owner: "other", ttlMs: 60_000, fenceHint: 1, timeoutMs: 50 };
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

  it("acquire() retries a failed watch after the next attempt", async () => {
    const { redlock, clock, nodes, otherClient } = world(3, { ...patient, retryDelayMs: 100, retryDelayMaxMs: 5000 });
    const failed = new Set<string>();
    for (const node of nodes) {
      const watch = node.watch as NonNullable<typeof node.watch>;
      node.watch = async (...args) => {
        if (failed.has(node.name)) return watch(...args);
        failed.add(node.name);
        throw new Error("no");
      };
    }
    const other = await otherClient().acquire("r");
    const pending = redlock.acquire("r");
    await clock.advance(1000); // it has retried and watches
    await other.release();
    await clock.until(pending);
    expect(clock.monotonicMs()).toBe(1000);
  });

  it("acquire() retries soon after a split vote even if it watches, as no release will be announced", async () => {
    const { redlock, clock, nodes, inner, node, otherClient } = world(4, {
      ...patient,
      retryDelayMs: 10,
      retryDelayMaxMs: 5000,
    });
    const other = await otherClient().acquire("r");
    const pending = redlock.acquire("r");
    await clock.advance(100); // it watches
    for (const each of nodes) each.announcement = () => {};
    await other.release();
    for (const each of inner.slice(2)) await each.acquire(claimOf("split", "r", 60_000));
    const before = node("a").callsOf("acquire").length;
    while (node("a").callsOf("acquire").length === before) await clock.advance(1); // the back-off while watching
    for (const each of inner.slice(2)) await each.release({ ...claimOf("split", "r"), undo: true });
    const beganMs = clock.monotonicMs();
    await clock.until(pending);
    expect(clock.monotonicMs() - beganMs).toBeLessThan(200);
  });

  it("acquire() leaves a resource to a named process that is gone for at most retryDelayMaxMs", async () => {
    const { redlock, clock, inner, otherClient } = world(3, {
      retryDelayMs: 5,
      retryDelayMaxMs: 20,
      waitTimeoutMs: 60_000,
    });
    const other = await otherClient().acquire("r");
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

  it("acquire() that times out does not make an earlier waiter send requests", async () => {
    const it = world(3, patient);
    const other = await it.otherClient().acquire("r");
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

  it("release() that names its own process causes no delay", async () => {
    const it = world(3, patient);
    const other = await it.otherClient().acquire("r");
    const waiting = it.redlock.acquire("r");
    await it.clock.advance(20); // it is in the waiting lists and watches
    for (const node of it.nodes) node.fault = () => ({ requestMs: 2, replyMs: 2 });
    const released = other.release();
    const passing = it.redlock.tryAcquire("r"); // tries at the same time, and wins
    await it.clock.until(released);
    const lock = await it.clock.until(passing);
    await it.clock.advance(100); // too long to be handed over
    const beganMs = it.clock.monotonicMs();
    await it.clock.until(lock?.release() ?? Promise.reject(new Error("it did not win")));
    await it.clock.until((await it.clock.until(waiting)).release());
    expect(it.clock.monotonicMs() - beganMs).toBeLessThan(50);
  });

  it("acquire() stops watching a second after the process last held or wanted the resource", async () => {
    const { redlock, clock, nodes, otherClient } = world(3, { waitTimeoutMs: 60_000 });
    const open = countWatches(nodes);
    await clock.until((await redlock.acquire("r")).release());
    expect(open()).toBe(0);
    const other = await otherClient().acquire("r");
    const pending = redlock.acquire("r");
    await clock.advance(100);
    expect(open()).toBe(3);
    await other.release();
    await clock.until((await clock.until(pending)).release());
    await clock.advance(999);
    expect(open()).toBe(3);
    await clock.advance(1);
    expect(open()).toBe(0);
    expect(clock.pendingTimers).toBe(0);
  });

  it("tryAcquire() announces nothing when it undoes a failed attempt", async () => {
    const { redlock, clock, nodes, inner, otherClient } = world(3);
    const other = await otherClient().acquire("r");
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
