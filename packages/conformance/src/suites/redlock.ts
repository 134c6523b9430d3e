import { setImmediate } from "node:timers/promises";
import { type Lock, LockLostError, type Redlock, TicketSpentError } from "@holdfast/core";
import { expect } from "vitest";
import { type Fact, facts, factsNeeding } from "../fact.ts";
import { shared } from "../world/client.ts";
import { minuteMs } from "../world/durations.ts";
import { expectStrictlyIncreasing } from "../world/expectations.ts";
import type { RedlockWorld } from "../world/redlock-world.ts";

const workers = 20;
const locksPerWorker = 2;
const reading = { mode: "shared" } as const;

/** A critical section that loses increments if two workers are inside at the same time. */
interface Section {
  counter: number;
  readonly fences: number[];
}

async function enter(
  redlock: Redlock,
  resources: string | readonly string[],
  sections: readonly Section[],
): Promise<void> {
  await redlock.using(resources, { autoExtend: false }, async (lock) => {
    const before = sections.map(({ counter }) => counter);
    for (const { fences } of sections) fences.push(lock.fence);
    await setImmediate();
    for (const [index, section] of sections.entries()) section.counter = (before[index] as number) + 1;
  });
}

/** Lets workers of two separate Redlocks enter sections. Each worker has its list of resources. */
async function contend(world: RedlockWorld, lists: readonly (readonly string[])[]): Promise<Map<string, Section>> {
  const sections = new Map<string, Section>(lists.flat().map((name) => [name, { counter: 0, fences: [] }]));
  const sides = [world.redlock, world.rivalRedlock];
  const work = async (resources: readonly string[], index: number): Promise<void> => {
    const own = resources.map((name) => sections.get(name) as Section);
    for (let round = 0; round < world.times(locksPerWorker); round++)
      await enter(sides[index % 2] as Redlock, resources, own);
  };
  await Promise.all(lists.map(work));
  return sections;
}

/** Acquires a lock with a ttl as short as the server's speed allows, so that a test can wait for its end. */
async function acquireBriefly(world: RedlockWorld, resource: string): Promise<Lock> {
  for (let ttlMs = 100; ; ttlMs *= 4) {
    try {
      return await world.briefRedlock(ttlMs).acquire(resource);
    } catch (error) {
      if (ttlMs > 5_000) throw error;
    }
  }
}

/** The facts about two whole Redlocks, each with its own clients of the same five servers. */
export const redlockFacts: readonly Fact<RedlockWorld>[] = [
  ...facts<RedlockWorld>({
    // Two Redlocks over five nodes exclude each other.
    [`Redlock excludes ${workers} workers from each other, and its fences increase in the order of the grants`]: async (
      world,
    ) => {
      const sections = await contend(
        world,
        Array.from({ length: workers }, () => ["invoice:42"]),
      );
      const { counter, fences } = sections.get("invoice:42") as Section;
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

    // The majority decides.
    "tryAcquire() grants while another owner holds a minority, and releases its claims if that holds a majority":
      async (world) => {
        for (const { node } of world.nodes.slice(0, 2)) await node.grant("another owner", "r");
        const lock = await world.redlock.tryAcquire("r");
        expect(lock?.remainingMs()).toBeGreaterThan(0);
        for (const { node } of world.nodes.slice(0, 2)) await node.hold("another owner", "r");
        for (const { node } of world.nodes.slice(0, 3)) await node.grant("another owner", "s");
        expect(await world.redlock.tryAcquire("s")).toBeNull();
        for (const { node } of world.nodes.slice(3)) {
          await world.eventually("the claim of the failed attempt is gone", async () => {
            return (await node.acquire("another owner", "s")).granted;
          });
        }
      },

    // How a lock is lost.
    "a lock whose claims are gone from a minority is kept by extend(), and from a majority lost": async (world) => {
      const lock = await world.redlock.acquire("r");
      for (const { node } of world.nodes) {
        // The lock needed only a majority: its claim may reach the other nodes later.
        await world.eventually("each node holds it", async () => (await node.extend(lock.owner, "r")).held);
      }
      for (const { rival } of world.nodes.slice(0, 2)) await rival.release(lock.owner, "r");
      await lock.extend();
      expect(lock.signal.aborted).toBe(false);
      expect(await world.rivalRedlock.tryAcquire("r")).toBeNull();
      for (const { rival } of world.nodes.slice(0, 3)) {
        // An extension may have claimed it again.
        await world.eventually("another owner holds it", async () => {
          await rival.release(lock.owner, "r");
          return (await rival.acquire("another owner", "r")).granted;
        });
      }
      expect(lock.signal.aborted).toBe(false);
      await expect(lock.extend()).rejects.toMatchObject({ code: "LOCK_LOST" });
      expect(lock.signal.reason).toBeInstanceOf(LockLostError);
      expect(lock.remainingMs()).toBe(0);
    },

    "a lock that is not extended is lost by the end of its ttl, and the next one has a larger fence": async (world) => {
      const lock = await acquireBriefly(world, "r");
      await world.eventually("the signal aborts", () => lock.signal.aborted);
      expect(lock.signal.reason).toBeInstanceOf(LockLostError);
      const next = await world.rivalRedlock.acquire("r");
      expect(next.fence).toBeGreaterThan(lock.fence);
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
  ...factsNeeding<RedlockWorld>(["severalResources"], {
    "Redlock excludes workers from each other that lock overlapping lists of resources": async (world) => {
      const ring = ["a", "b", "c"];
      const lists = ring.flatMap((name, index) => [[name, ring[(index + 1) % ring.length] as string], [name], ring]);
      const sections = await contend(world, lists);
      for (const resource of ring) {
        const { counter, fences } = sections.get(resource) as Section;
        const locks = lists.filter((list) => list.includes(resource)).length * world.times(locksPerWorker);
        expect(counter, `increments of ${resource}`).toBe(locks);
        expectStrictlyIncreasing(fences);
      }
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

    "acquire() in shared mode is granted while readers hold different majorities": async (world) => {
      for (const [index, { node }] of world.nodes.entries()) {
        await node.grant(`reader ${index}`, "r", { ...shared, fenceHint: 100 * (index + 1) });
      }
      const lock = await world.redlock.tryAcquire("r", reading);
      expect(lock?.remainingMs()).toBeGreaterThan(0);
      expect(await world.rivalRedlock.tryAcquire("r")).toBeNull();
      expect(await world.rivalRedlock.tryAcquire("r", reading)).not.toBeNull();
    },

    "Redlock excludes writers from each other and from readers, and their fences exceed those of all earlier locks":
      async ({ redlock, rivalRedlock, times }) => {
        const shelf = { value: 0, writes: 0, highest: 0, highestOfWriters: 0 };
        const read = async (lock: Lock): Promise<void> => {
          const before = shelf.value;
          expect(lock.fence, "the fence of a reader").toBeGreaterThan(shelf.highestOfWriters);
          shelf.highest = Math.max(shelf.highest, lock.fence);
          await setImmediate();
          expect(shelf.value, "a value that a reader sees twice").toBe(before);
        };
        const write = async (lock: Lock): Promise<void> => {
          expect(lock.fence, "the fence of a writer").toBeGreaterThan(shelf.highest);
          shelf.highest = lock.fence;
          shelf.highestOfWriters = lock.fence;
          shelf.writes += 1;
          const before = shelf.value;
          await setImmediate();
          shelf.value = before + 1;
        };
        const work = async (_: unknown, index: number): Promise<void> => {
          const side = index % 2 === 0 ? redlock : rivalRedlock;
          for (let round = index; round < index + times(locksPerWorker); round++) {
            if (round % 3 === 0) await side.using("shelf", write);
            else await side.using("shelf", reading, read);
          }
        };
        await Promise.all(Array.from({ length: 10 }, work));
        expect(shelf.value, "increments").toBe(shelf.writes);
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

    "tryAcquire() rejects while a majority of the servers is unreachable, and grants after the outage": async (
      world,
    ) => {
      const gone = world.nodes.slice(0, 3);
      for (const { server } of gone) await server.stop();
      await expect(world.redlock.tryAcquire("r")).rejects.toMatchObject({ code: "QUORUM_UNREACHABLE" });
      for (const { server } of gone) await server.start();
      await world.eventually("a lock is granted again", async () => {
        return (await world.redlock.tryAcquire("r").catch(() => null)) !== null;
      });
    },
  }),
];
