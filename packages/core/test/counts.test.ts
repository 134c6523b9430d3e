import { type Clock, type LockNode, Redlock } from "@holdfast/core";
import { describe, expect, it } from "vitest";

/** What operations over five nodes ask of the runtime: figures that are the same on every machine. */
function counting(timeoutMs = 50) {
  const counts = { timers: 0, pendingTimers: 0, clockReads: 0, turns: 0, requests: new Set<object>(), calls: 0 };
  const clock: Clock = {
    monotonicMs: () => {
      counts.clockReads += 1;
      return 0;
    },
    wallMs: () => {
      counts.clockReads += 1;
      return 1_000_000;
    },
    startTimer: () => {
      counts.timers += 1;
      counts.pendingTimers += 1;
      let isPending = true;
      return () => {
        if (isPending) counts.pendingTimers -= 1;
        isPending = false;
      };
    },
    afterPendingIo: () => {
      counts.turns += 1;
    },
  };
  const answer = <Reply>(request: object, reply: Reply): Promise<Reply> => {
    counts.calls += 1;
    counts.requests.add(request);
    return Promise.resolve(reply);
  };
  const node = (name: string): LockNode => ({
    name,
    acquire: (request) => answer(request, { granted: true, fence: request.fenceHint }),
    extend: (request) => answer(request, { held: true, fence: request.fence }),
    release: (request) => answer(request, { released: true }),
  });
  const redlock = new Redlock(["a", "b", "c", "d", "e"].map(node), { clock, nodeTimeoutMs: timeoutMs });
  return { counts, redlock };
}

describe("what a lock costs", () => {
  it("acquire() starts one timer for its nodes and one for the lock, and asks each node once with one request", async () => {
    const { counts, redlock } = counting();
    await redlock.acquire("r");
    expect(counts.timers).toBe(2);
    expect(counts.pendingTimers).toBe(1);
    expect(counts.calls).toBe(5);
    expect(counts.requests.size).toBe(1);
  });

  it("release() starts one timer for its nodes, and asks each node once with one request", async () => {
    const { counts, redlock } = counting();
    const lock = await redlock.acquire("r");
    await lock.release();
    expect(counts.timers).toBe(3);
    expect(counts.pendingTimers).toBe(0);
    expect(counts.calls).toBe(10);
    expect(counts.requests.size).toBe(2);
  });
});
