import { type Lock, type LockNode, Redlock } from "@holdfast/core";
import { describe, expect, it } from "vitest";
import { crowd } from "../support/crowd.ts";
import { world } from "../world.ts";

describe("nested locks and locks on several resources (W1)", { timeout: 30_000 }, () => {
  it.each([
    ["for the holder of a while a waiter wants a and b", false],
    ["beside a waiter for a and b that another process blocks", true],
  ])("acquire() of b and c succeeds %s", async (_, isOther) => {
    const { redlock, clock, otherClient, expectNothingLeft } = world(3, { waitTimeoutMs: 60_000 });
    const a = await (isOther ? otherClient() : redlock).acquire("a");
    const waiting = redlock.acquire(["a", "b"]);
    await clock.advance(1);
    const inner = await clock.until(redlock.acquire(["b", "c"]));
    expect(clock.monotonicMs()).toBe(1);
    await clock.until(inner.release());
    await clock.until(a.release());
    await clock.until((await clock.until(waiting)).release());
    await expectNothingLeft(isOther ? 1_000 : 0, "b");
  });

  it("acquire() of free resources succeeds behind a chain of blocked waiters", async () => {
    const { redlock, clock } = world(3, { waitTimeoutMs: 60_000 });
    const a = await redlock.acquire("a");
    const chain = [
      ["a", "b"],
      ["b", "c"],
      ["c", "d"],
    ].map(async (resources) => {
      const lock = await redlock.acquire(resources);
      const inner = await redlock.acquire(resources.map((name) => `${name}'`));
      await inner.release();
      await lock.release();
      return clock.monotonicMs();
    });
    await clock.advance(1);
    const last = await clock.until(redlock.acquire(["d", "e"]));
    expect(clock.monotonicMs()).toBe(1);
    await clock.until(last.release());
    expect(await clock.until(Promise.all(chain.slice(1)))).toEqual([0, 0]);
    await clock.until(a.release());
    await clock.until(Promise.all(chain));
  });

  it("acquire() distinguishes a name that looks like a list from that list", async () => {
    const { redlock, clock } = world(3, { waitTimeoutMs: 60_000 });
    const name = '["a","b"]';
    const a = await redlock.acquire("a");
    const held = await redlock.acquire(name);
    const both = redlock.acquire(["a", "b"]);
    const next = redlock.acquire(name);
    await clock.advance(10);
    await held.release();
    await clock.until((await clock.until(next)).release());
    expect(clock.monotonicMs()).toBe(10);
    await a.release();
    await clock.until((await clock.until(both)).release());
  });

  it("acquire() of free resources waits for one back-off at most if nodes do not report heldResources", async () => {
    const { clock, inner, otherClient } = world(3);
    const nodes = inner.map(
      (node): LockNode => ({
        ...node,
        acquire: async (request) => {
          const reply = await node.acquire(request);
          return reply.granted ? reply : { granted: false };
        },
      }),
    );
    const redlock = new Redlock(nodes, { clock, waitTimeoutMs: 60_000 });
    for (const held of ["a", "b"]) {
      const lock = await clock.until(otherClient({ autoExtend: true }).acquire(held));
      const waiting = redlock.acquire(["a", "b"]);
      await clock.advance(500);
      const beganMs = clock.monotonicMs();
      const free = await clock.until(redlock.acquire([held === "a" ? "b" : "a", "c"]));
      expect(clock.monotonicMs() - beganMs).toBeLessThanOrEqual(2 * 400);
      await clock.until(free.release());
      await clock.until(lock.release());
      await clock.until((await clock.until(waiting)).release());
    }
  });

  it.each([1, 2, 3])(
    "acquire() never deadlocks programs that nest locks in one order, in %i processes",
    async (processes) => {
      const options = { waitTimeoutMs: 600_000, autoExtend: true };
      const { clock, redlocks, pause } = crowd(processes, 3, () => 0.2, options);
      const programs = [
        [["a"], ["b", "c"]],
        [["a", "b"], ["c"]],
        [["b"], ["c", "d"]],
        [["a", "c"], ["d"]],
        [["a"], ["c"], ["d"]],
        [["b", "d"], ["e"]],
        [["a", "b", "c", "d"]],
      ];
      const inside = new Set<string>();
      const run = async (redlock: Redlock, [names, ...rest]: readonly string[][]): Promise<void> => {
        if (names === undefined) return;
        const lock: Lock = await redlock.acquire(names);
        for (const name of names) {
          expect(inside.has(name)).toBe(false);
          inside.add(name);
        }
        await pause(2);
        await run(redlock, rest);
        for (const name of names) inside.delete(name);
        await lock.release();
      };
      const work = Array.from({ length: 12 * programs.length }, (_, index) =>
        run(redlocks[index % processes] as Redlock, programs[index % programs.length] as string[][]),
      );
      await clock.until(Promise.all(work), 60_000);
      await clock.advance(20_000);
      expect(clock.pendingTimers).toBe(0);
    },
  );
});
