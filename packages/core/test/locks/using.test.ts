import { LockLostError } from "@holdfast/core";
import type { FaultyNode } from "@holdfast/testkit";
import { describe, expect, it } from "vitest";
import { claimOf, held, world } from "../world.ts";

const hang = { lose: "request" } as const;

describe("using()", () => {
  it("using() extends while the routine runs, returns its result and releases", async () => {
    const { redlock, clock, events, expectNothingLeft } = world(5);
    const result = await clock.until(
      redlock.using("r", async (lock) => {
        await new Promise<void>((resolve) => clock.deliver(100_000, resolve));
        lock.signal.throwIfAborted();
        return lock.fence;
      }),
    );
    expect(result).toBeGreaterThan(0);
    expect(events.filter(([name]) => name === "extended").length).toBeGreaterThan(10);
    await expectNothingLeft();
  });

  it("using() passes a lock that says where its signal is, to a routine that takes it for one as with other libraries", async () => {
    const { redlock, clock } = world(3);
    const pending = redlock.using("r", (lock) => Reflect.get(lock, "aborted"));
    await expect(clock.until(pending)).rejects.toThrow(
      new TypeError("a lock is not a signal: read lock.signal.aborted"),
    );
  });

  it("using() rejects with the error of the routine, even if the release fails as well", async () => {
    const { redlock, clock, nodes } = world(3);
    const pending = redlock.using("r", { ttlMs: 5000 }, async () => {
      for (const node of nodes) node.fault = () => hang;
      throw new Error("of the routine");
    });
    await expect(clock.until(pending)).rejects.toThrow("of the routine");
  });

  it("using() notices at its end that the lock is lost, even before a timer could fire", async () => {
    const { redlock, clock } = world(3);
    const pending = redlock.using("r", () => {
      clock.suspend(60_000);
      return "too late";
    });
    await expect(clock.until(pending)).rejects.toMatchObject({ code: "LOCK_LOST", reason: "suspended" });
  });

  it("using() aborts the signal by the end of the validity when every node hangs (S7)", async () => {
    const { redlock, clock, nodes, expectNothingLeft } = world(5);
    let abortedAtMs = Number.NaN;
    const pending = redlock.using("r", async ({ signal }) => {
      for (const node of nodes) node.fault = () => hang;
      await new Promise<void>((resolve) => {
        signal.addEventListener("abort", () => {
          abortedAtMs = clock.monotonicMs();
          resolve();
        });
      });
      signal.throwIfAborted();
    });
    await expect(clock.until(pending)).rejects.toBeInstanceOf(LockLostError);
    expect(abortedAtMs).toBeLessThanOrEqual(9898);
    expect(abortedAtMs).toBeGreaterThan(9000);
    await expectNothingLeft(1000);
  });

  it("signal aborts by the end of the validity, even if that is not a whole millisecond (S7)", async () => {
    const { lock, clock } = await held(3, { driftFactor: 0.013, ttlMs: 777 });
    const endsAtMs = clock.monotonicMs() + lock.remainingMs();
    let abortedAtMs = Number.NaN;
    lock.signal.addEventListener("abort", () => {
      abortedAtMs = clock.monotonicMs();
    });
    await clock.advance(777);
    expect(abortedAtMs).toBeLessThanOrEqual(endsAtMs);
    expect(abortedAtMs).toBeGreaterThan(endsAtMs - 1);
  });

  it("using() rejects with the error of acquire(), and does not run the routine", async () => {
    const { redlock, clock, inner } = world(3);
    for (const node of inner) await node.acquire(claimOf("other", "r", 60_000));
    let ran = false;
    const pending = redlock.using("r", { waitTimeoutMs: 100 }, () => {
      ran = true;
    });
    await expect(clock.until(pending)).rejects.toMatchObject({ code: "WAIT_TIMEOUT" });
    expect(ran).toBe(false);
  });

  const slowRelease: FaultyNode["fault"] = ({ method }) => (method === "release" ? { replyMs: 20 } : undefined);

  it.each([
    [true, 20],
    [false, 0],
  ])(
    "using({ awaitRelease: %s }) returns after %i ms when nodes take 20 ms to confirm the release",
    async (awaitRelease, tookMs) => {
      const { redlock, clock, nodes, heldOn, expectNothingLeft } = world(3);
      for (const node of nodes) node.fault = slowRelease;
      expect(await clock.until(redlock.using("r", { awaitRelease }, () => "done"))).toBe("done");
      expect(clock.monotonicMs()).toBe(tookMs);
      expect(await heldOn("r")).toEqual([]);
      await expectNothingLeft(20);
    },
  );

  it.each([true, false])(
    "using({ awaitRelease: %s }) returns the result when only the release fails, and notifies the observer",
    async (awaitRelease) => {
      const { redlock, clock, nodes, events } = world(3);
      const pending = redlock.using("r", { awaitRelease }, () => {
        for (const node of nodes) node.fault = () => hang;
        return "done";
      });
      expect(await clock.until(pending)).toBe("done");
      await clock.advance(1000);
      expect(events.at(-1)).toMatchObject(["released", { confirmed: false }]);
      expect(clock.pendingTimers).toBe(0);
    },
  );

  it("using({ awaitRelease: false }) rejects when the lock was lost, or with the error of the routine", async () => {
    const { redlock, clock } = world(3, { awaitRelease: false });
    await expect(clock.until(redlock.using("r", () => clock.suspend(60_000)))).rejects.toBeInstanceOf(LockLostError);
    const failing = redlock.using("r", () => Promise.reject(new Error("of the routine")));
    await expect(clock.until(failing)).rejects.toThrow("of the routine");
  });

  it("Lock[Symbol.asyncDispose]() does not wait for the nodes when awaitRelease is false", async () => {
    const { redlock, clock, nodes, heldOn } = world(3);
    for (const node of nodes) node.fault = slowRelease;
    const lock = await redlock.acquire("r", { awaitRelease: false });
    await clock.until(lock[Symbol.asyncDispose]());
    expect(clock.monotonicMs()).toBe(0);
    expect(await heldOn("r")).toEqual([]);
    await clock.advance(20);
  });
});
