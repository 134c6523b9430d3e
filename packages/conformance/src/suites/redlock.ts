import { setImmediate } from "node:timers/promises";
import { TicketSpentError } from "@holdfast/core";
import { expect } from "vitest";
import { type Fact, facts, factsNeeding } from "../fact.ts";
import { minuteMs } from "../world/durations.ts";
import { expectStrictlyIncreasing } from "../world/expectations.ts";
import type { RedlockWorld } from "../world/redlock-world.ts";

const workers = 20;
const locksPerWorker = 2;
const reading = { mode: "shared" } as const;

/** The facts about two whole Redlocks, each with its own clients of the same five servers. */
export const redlockFacts: readonly Fact<RedlockWorld>[] = [
  ...facts<RedlockWorld>({
    // Two Redlocks over five nodes exclude each other.
    [`Redlock excludes ${workers} workers from each other, and its fences increase in the order of the grants`]: async (
      world,
    ) => {
      // A counter that loses increments if two workers are in the critical section at the same time.
      let counter = 0;
      const fences: number[] = [];
      const work = async (_: unknown, index: number): Promise<void> => {
        const redlock = index % 2 === 0 ? world.redlock : world.rivalRedlock;
        for (let round = 0; round < world.times(locksPerWorker); round++) {
          await redlock.using("invoice:42", { autoExtend: false }, async (lock) => {
            const before = counter;
            fences.push(lock.fence);
            await setImmediate();
            counter = before + 1;
          });
        }
      };
      await Promise.all(Array.from({ length: workers }, work));
      expect(counter, "increments").toBe(workers * world.times(locksPerWorker));
      expectStrictlyIncreasing(fences);
    },

    "Redlock excludes another one until release(), and each lock has a larger fence than the one before": async ({
      redlock,
      rivalRedlock,
    }) => {
      const lock = await redlock.acquire("r", { ttlMs: minuteMs });
      expect(await rivalRedlock.tryAcquire("r")).toBeNull();
      expect(await rivalRedlock.tryAcquire("other")).toMatchObject({ resources: ["other"] });
      const { fence } = lock;
      await lock.extend({ ttlMs: 10 * minuteMs });
      expect(lock.remainingMs()).toBeGreaterThan(minuteMs);
      expect(lock.fence).toBe(fence);
      expect(await rivalRedlock.tryAcquire("r")).toBeNull();
      const waiting = rivalRedlock.acquire("r");
      await setImmediate();
      await lock.release();
      const next = await waiting;
      expect(next.fence).toBeGreaterThan(fence);
      // A quorum replies. Over several connections, the other nodes may be asked for the claim only afterwards.
      await next.release();
      expect((await redlock.acquire("r")).fence).toBeGreaterThan(next.fence);
    },
  }),
  ...factsNeeding<RedlockWorld>(["takeover"], {
    "transfer() keeps a lock from others until one of them adopts it": async ({ redlock, rivalRedlock }) => {
      const lock = await redlock.acquire("r", { ttlMs: minuteMs });
      const ticket = await lock.transfer({ withinMs: minuteMs });
      expect(await redlock.tryAcquire("r")).toBeNull();
      const adopted = await rivalRedlock.adopt(ticket, { ttlMs: minuteMs });
      expect(adopted.fence).toBeGreaterThan(lock.fence);
      await lock.release();
      await adopted.extend();
      await expect(redlock.adopt(ticket)).rejects.toThrow(TicketSpentError);
      await adopted.release();
      await expect(redlock.adopt(ticket)).rejects.toThrow(TicketSpentError);
      expect(await redlock.tryAcquire("r")).toMatchObject({ resources: ["r"] });
    },
  }),
  ...factsNeeding<RedlockWorld>(["sharing"], {
    // Shared locks of two Redlocks, which are readers, and exclusive ones, which are writers.
    "acquire() in shared mode shares the resource with the other Redlock": async (world) => {
      const { redlock, rivalRedlock } = world;
      const locks = await Promise.all([redlock.acquire("r", reading), rivalRedlock.acquire("r", reading)]);
      for (const lock of locks) expect(lock.remainingMs()).toBeGreaterThan(0);
      for (const lock of locks) await lock.extend();
      expect(await rivalRedlock.tryAcquire("r"), "a writer while readers hold the resource").toBeNull();
      await locks[0].release();
      expect(await rivalRedlock.tryAcquire("r"), "a writer while one reader is left").toBeNull();
      await locks[1].release();
      const writer = await redlock.acquire("r");
      for (const lock of locks) expect(writer.fence).toBeGreaterThan(lock.fence);
      expect(await rivalRedlock.tryAcquire("r", reading), "a reader beside a writer").toBeNull();
      await writer.release();
      expect((await rivalRedlock.acquire("r", reading)).fence).toBeGreaterThan(writer.fence);
    },
  }),
  ...factsNeeding<RedlockWorld>(["server"], {
    "acquire(), extend() and release() work while a minority of the servers is unreachable": async (world) => {
      for (const { server } of world.nodes.slice(0, 2)) await server.stop();
      const lock = await world.redlock.acquire("r");
      expect(await world.rivalRedlock.tryAcquire("r")).toBeNull();
      await lock.extend();
      await lock.release();
      const next = await world.rivalRedlock.acquire("r");
      expect(next.fence).toBeGreaterThan(lock.fence);
    },
  }),
];
