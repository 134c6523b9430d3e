import { createHook } from "node:async_hooks";
import { type Clock, type LockNode, Redlock, type RedlockOptions } from "@holdfast/core";
import { describe, expect, it } from "vitest";

/** Counts what operations over five nodes cost: figures that are the same on every machine. */
function counting(options: RedlockOptions = {}) {
  const counts = { timers: 0, pendingTimers: 0, clockReads: 0, requests: new Set<object>(), calls: 0, namesRead: 0 };
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
    afterPendingIo: (callback) => callback(),
  };
  const answer = <Reply>(request: object, reply: Reply): Promise<Reply> => {
    counts.calls += 1;
    counts.requests.add(request);
    return Promise.resolve(reply);
  };
  let isHeld = false;
  const node = (name: string): LockNode => ({
    get name() {
      counts.namesRead += 1;
      return name;
    },
    acquire: (request) => answer(request, isHeld ? { granted: false } : { granted: true, fence: request.fenceHint }),
    extend: (request) => answer(request, { held: true, fence: request.fence }),
    release: (request) => answer(request, { released: true }),
  });
  const redlock = new Redlock(["a", "b", "c", "d", "e"].map(node), { clock, ...options });
  counts.namesRead = 0;
  /** Makes another owner hold everything from now on. */
  const holdAll = () => {
    isHeld = true;
  };
  return { counts, redlock, holdAll };
}

/** Returns the result of a function, and how many promises it made, including those of the nodes and of `await`. */
async function countPromises<T>(work: () => Promise<T>): Promise<[result: T, promises: number]> {
  let promises = 0;
  const init = (_: number, type: string): void => {
    if (type === "PROMISE") promises += 1;
  };
  const hook = createHook({ init }).enable();
  const result = await work();
  hook.disable();
  return [result, promises];
}

describe("the cost of a lock", () => {
  it("acquire() and release() each send one request to each node, start one timer for them, and read few clocks", async () => {
    const { counts, redlock } = counting();
    const costs = () => ({ ...counts, requests: counts.requests.size });
    const lock = await redlock.acquire("r");
    // Another timer runs for the lock. Both clocks are read before the first request, and when the call settles.
    expect(costs()).toMatchObject({ timers: 2, pendingTimers: 1, calls: 5, requests: 1, clockReads: 4 });
    await lock.release();
    expect(costs()).toMatchObject({ timers: 3, pendingTimers: 0, calls: 10, requests: 2, clockReads: 6 });
  });

  it("acquire() makes seven promises besides those for the replies, release() five", async () => {
    const { redlock } = counting();
    const acquiring: number[] = [];
    const releasing: number[] = [];
    // The minimum excludes promises that the rest of the process happens to make.
    for (let round = 0; round < 10; round++) {
      const [lock, toAcquire] = await countPromises(() => redlock.acquire("r"));
      const [, toRelease] = await countPromises(() => lock.release());
      acquiring.push(toAcquire);
      releasing.push(toRelease);
    }
    // One promise for each node's reply, and one for handling it.
    expect(Math.min(...acquiring)).toBeLessThanOrEqual(2 * 5 + 7);
    expect(Math.min(...releasing)).toBeLessThanOrEqual(2 * 5 + 5);
  });

  it("tryAcquire() that returns null creates no error unless an observer needs it", async () => {
    const deaf = counting({ observer: { acquired: () => {} } });
    deaf.holdAll();
    expect(await deaf.redlock.tryAcquire("r")).toBeNull();
    expect(deaf.counts.namesRead).toBe(0);
    const errors: unknown[] = [];
    const hearing = counting({ observer: { acquireFailed: ({ error }) => void errors.push(error) } });
    hearing.holdAll();
    expect(await hearing.redlock.tryAcquire("r")).toBeNull();
    expect(errors).toMatchObject([{ code: "LOCK_HELD" }]);
    expect(hearing.counts.namesRead).toBe(5);
  });
});
