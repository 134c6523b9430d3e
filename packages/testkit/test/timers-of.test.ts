import { setTimeout as elapse } from "node:timers/promises";
import { afterEach, expect, test, vi } from "vitest";
import { timersOf } from "../src/timers-of.ts";

afterEach(() => {
  vi.useRealTimers();
});

/** Runs until it is stopped, like a connection that nobody closes. */
function forgotten() {
  let isStopped = false;
  const tick = (): void => {
    if (!isStopped) setTimeout(() => setImmediate(tick), 1);
  };
  tick();
  return {
    [Symbol.dispose]() {
      isStopped = true;
    },
  };
}

test("timersOf() records the timeouts of the test, and of what it starts, until they have ended", async () => {
  vi.useFakeTimers();
  const timers = timersOf("timers-of.test.ts");
  setTimeout(() => setImmediate(() => setTimeout(() => {}, 10)), 10);
  clearTimeout(setTimeout(() => {}, 10));
  await vi.advanceTimersByTimeAsync(15);
  expect([timers.started, timers.pending.size]).toEqual([3, 1]);
  await vi.advanceTimersByTimeAsync(15);
  expect([timers.started, timers.pending.size]).toEqual([3, 0]);
});

test("timersOf() leaves out what was started before", async () => {
  using _ = forgotten();
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setImmediate", "clearImmediate"] });
  const timers = timersOf("timers-of.test.ts");
  while (vi.getTimerCount() === 0) await elapse(1); // a real time
  await vi.advanceTimersByTimeAsync(100);
  expect(timers.started).toBe(0);
});
