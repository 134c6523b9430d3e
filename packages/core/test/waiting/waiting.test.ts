import { LockHeldError } from "@holdfast/core";
import { describe, expect, it } from "vitest";
import { claimOf, held, world } from "../world.ts";

describe("waiting", () => {
  it("acquire() gets the lock soon after a claim expires, although the first node hangs", async () => {
    const { redlock, clock, inner, node } = world(3, { waitTimeoutMs: 60_000, retryDelayMaxMs: 30_000 });
    for (const each of inner) await each.acquire(claimOf("dead", "r", 20_000));
    node("a").fault = () => ({ lose: "request" });
    await clock.until(redlock.acquire("r"));
    expect(clock.monotonicMs()).toBeGreaterThanOrEqual(20_000);
    expect(clock.monotonicMs()).toBeLessThanOrEqual(20_000 + 26);
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
    await expect(clock.until(second)).rejects.toThrow(
      "could not lock r: waited 300 ms; this process has held r for 300 ms ",
    );
    expect(clock.monotonicMs()).toBe(300);
    expect(first).toBeDefined();
  });

  it("acquire() refuses to wait when maxWaiters calls are already in progress", async () => {
    const { lock, redlock, clock } = await held(3, { maxWaiters: 2 });
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
});
