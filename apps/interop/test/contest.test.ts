import { setTimeout as sleep } from "node:timers/promises";
import { createDice } from "@holdfast/app-kit/dice";
import { expect, onTestFinished, test } from "vitest";
import { holdfastOverIoredis, holdfastOverNodeRedis } from "./libraries/holdfast.ts";
import type { Library } from "./libraries/library.ts";
import { theirs } from "./libraries/others.ts";
import { startServers } from "./servers.ts";

const servers = await startServers(3);
const ports = servers.map(({ port }) => port);

/** Few keys, so that there are conflicts, with the prefix that redis-semaphore requires. */
const keys = ["mutex:number-1", "mutex:number-2", "mutex:number-3"];

/** Far longer than the contest, so that locks end by release alone. */
const ttlMs = 120_000;

/** Grants every request, to show that losses without locks are noticed. */
const none: Library = {
  name: "no locks",
  locksSeveral: true,
  connect: async () => ({
    tryLock: async () => ({ value: "", extend: async () => true, release: async () => {} }),
    close: () => {},
  }),
};

/**
 * Lets so many clients of each library change a few numbers under locks, until each has held so many. The numbers have no
 * other protection: two clients that change one at the same time lose an increment.
 */
async function contend(libraries: readonly Library[], clients: number, locks: number) {
  const numbers = keys.map((key) => ({ key, value: 0, fence: 0 }));
  const counts = { increments: 0, conflicts: 0 };
  const work = async (library: Library, seed: number): Promise<void> => {
    const { tryLock, close } = await library.connect(ports);
    onTestFinished(close);
    const dice = createDice(seed);
    for (let held = 0; held < locks; await sleep(Math.random() * 8)) {
      const chosen = dice.some(numbers, library.locksSeveral && held % 4 === 3 ? 2 : 1);
      const names = chosen.map(({ key }) => key);
      const lock = await tryLock(names, ttlMs);
      if (lock === null) {
        counts.conflicts += 1;
        continue;
      }
      held += 1;
      for (const number of chosen) {
        if (lock.fence !== undefined) expect(lock.fence).toBeGreaterThan(number.fence);
        number.fence = lock.fence ?? number.fence;
        const { value } = number;
        await sleep(1);
        number.value = value + 1;
        counts.increments += 1;
      }
      if (held % 3 === 0) expect(await lock.extend(ttlMs)).toBe(true);
      await lock.release();
    }
  };
  const seeds = Array.from({ length: clients }, (_, index) => index);
  await Promise.all(libraries.flatMap((library) => seeds.map((seed) => work(library, seed))));
  const found = numbers.reduce((sum, { value }) => sum + value, 0);
  return { ...counts, lostUpdates: counts.increments - found };
}

test("clients of Holdfast and of all the other libraries lose no update, and tokens are in order", async () => {
  const { lostUpdates, conflicts } = await contend([holdfastOverIoredis, holdfastOverNodeRedis, ...theirs], 2, 6);
  expect(lostUpdates).toBe(0);
  expect(conflicts).toBeGreaterThan(0);
});

test("clients without locks lose updates", async () => {
  expect((await contend([none], 4, 50)).lostUpdates).toBeGreaterThan(0);
});
