import { Redlock } from "@holdfast/core";
import { memoryNode } from "@holdfast/memory";
import { isNightly } from "@holdfast/testkit";
import { expect, it } from "vitest";

it("acquire(), tryAcquire(), extend() and release() leave nothing behind after very many calls", async () => {
  const timers = new Set<object>();
  const clock = {
    monotonicMs: () => performance.now(),
    wallMs: () => Date.now(),
    startTimer: () => {
      const timer = {};
      timers.add(timer);
      return () => timers.delete(timer);
    },
    afterPendingIo: setImmediate,
  };
  const { signal } = new AbortController();
  let listeners = 0;
  let listenersMax = 0;
  signal.addEventListener = () => {
    listeners += 1;
    listenersMax = Math.max(listenersMax, listeners);
  };
  signal.removeEventListener = () => {
    listeners -= 1;
  };
  const node = memoryNode();
  // With such a low limit, a leaked waiter would cause a later call to be refused.
  const redlock = new Redlock([node], { clock, signal, maxWaiters: 10 });
  const rounds = isNightly ? 250_000 : 10_000;
  const names = ["a", "b", "c", "d", "e"];

  // Two workers for each name, so that calls have to wait. Each round: acquire, fail to acquire, extend, release.
  let operations = 0;
  const work = async (name: string): Promise<void> => {
    for (let round = 0; round < rounds / names.length / 2; round++) {
      const lock = await redlock.acquire(name);
      expect(await redlock.tryAcquire(name)).toBeNull();
      await lock.extend();
      await lock.release();
      operations += 4;
    }
  };
  await Promise.all([...names, ...names].map(work));

  expect(operations).toBe(4 * rounds);
  expect(timers.size).toBe(0);
  expect(listeners).toBe(0);
  expect(listenersMax).toBe(1);
  for (const name of names) expect((await node.inspect(name)).owner).toBeNull();
}, 300_000);
