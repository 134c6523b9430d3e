import { describe, expect, it } from "vitest";
import type { LockMode } from "../src/history/history.ts";
import { LockMap } from "../src/history/lock-map.ts";
import { Recorder } from "../src/history/recorder.ts";
import { type Waiter, Waiters } from "../src/history/waiters.ts";
import { Dice } from "../src/scenario/dice.ts";
import { ClientProcess } from "../src/world/client-process.ts";
import { Traffic } from "../src/world/traffic.ts";
import { World } from "../src/world/world.ts";

const terms = { attemptMs: 50, backOffMs: 40, pollMs: 20, splitMs: 0, undoMs: 0, isNotified: true };
const stock = { resources: ["stock"], timeoutMs: 100 };

/** An action on the calls of a process. */
type Act = (queue: Waiters, parts: { process: ClientProcess; locks: LockMap; calls: readonly Waiter[] }) => void;

/** Runs actions on the waiters of a process at given moments, and returns the records of all of its calls. */
async function waitersAfter(...actions: [atMs: number, act: Act][]) {
  const world = new World();
  const process = new ClientProcess(world, "client 1", new Dice(1));
  const calls: Waiter[] = [];
  const locks = new LockMap();
  const queue = new Waiters(process, process.name, terms, locks, calls);
  for (const [atMs, act] of actions) process.receive(atMs, () => act(queue, { process, locks, calls }));
  await world.runUntil(10_000);
  return calls;
}

/** Makes a call for `stock`. */
function enter(mode?: LockMode): Act {
  return (queue) => void queue.enter({ ...stock, mode });
}

/** A call, by its number, gets its lock. */
function succeed(index: number, attempt: string, owner: string): Act {
  return (queue, { calls }) => queue.succeed(calls[index] as Waiter, attempt, owner);
}

/** A call, by its number, gives up. */
function leave(index: number): Act {
  return (queue, { calls }) => queue.leave(calls[index] as Waiter);
}

describe("Waiters", () => {
  it("Waiters measures how long a call waits, and its longest time without an attempt", async () => {
    const [wait] = await waitersAfter(
      [0, enter()],
      [5, (queue) => queue.tries("a", ["stock"])],
      [8, (queue) => queue.settles("a")],
      [20, (queue) => queue.tries("b", ["stock"])],
      [90, (queue) => queue.settles("b")],
      [95, leave(0)],
    );
    expect(wait).toMatchObject({ idleMs: 12, waitedMs: 95, calledAtMs: 0, endedAtMs: 95, attempt: undefined });
    expect(wait).toMatchObject({ timeoutMs: 100, attemptMs: 50, backOffMs: 40, isNotified: true });
  });

  it.each([
    [512, 40],
    [511, 70],
  ])("Recorder counts an attempt of which no node heard only if one is silent: owes %i", async (owed, idleMs) => {
    const world = new World();
    const process = new ClientProcess(world, "client 1", new Dice(1));
    const recorder = new Recorder(() => {}, true);
    const traffic = new Traffic(process.name, "A", () => world.nowMs);
    recorder.traffic.push(traffic);
    traffic.settles(traffic.send("acquire", "answered", 50));
    for (let sent = 0; sent < owed; sent++) traffic.send("acquire", `${sent}`, 50);
    const waiters = recorder.follow(process, terms);
    const unheard = { owner: "a", resources: ["stock"], outcome: "unreachable", elapsedMs: 0, outcomes: [] } as const;
    process.receive(0, () => void waiters.enter(stock));
    process.receive(30, () => recorder.settled(unheard, process));
    process.receive(70, () => waiters.tries("b", ["stock"]));
    await world.runUntil(10_000);
    expect(recorder.waiters).toMatchObject([{ idleMs }]);
  });

  it("Waiters counts a call as idle during attempts for others, but not while its process is paused", async () => {
    const [wait] = await waitersAfter(
      [0, enter()],
      [5, (queue) => queue.tries("a", ["cash"])],
      [10, (_, { process }) => process.hold(1000)],
      [20, leave(0)],
    );
    expect(wait).toMatchObject({ idleMs: 10, waitedMs: 10, endedAtMs: 1010 });
  });

  it("Waiters does not count a call as idle behind an earlier call or a lock of its own process", async () => {
    const [holder, next] = await waitersAfter(
      [0, enter()],
      [0, enter()],
      [10, succeed(0, "1.1", "owner")],
      [510, (queue) => queue.tries("b", ["stock"])],
    );
    expect(holder).toMatchObject({ attempt: "1.1", idleMs: 10 });
    expect(next?.idleMs).toBe(0);
  });

  it("Waiters counts an attempt for any of a call's resources as an attempt for the call", async () => {
    const both = { resources: ["stock", "cash"], timeoutMs: 100 };
    const [waiter] = await waitersAfter(
      [0, (queue) => void queue.enter(both)],
      [10, (queue) => queue.tries("a", ["cash"])],
      [60, (queue) => queue.settles("a")],
      [61, (queue) => queue.tries("b", ["mail"])],
      [91, (queue) => queue.settles("b")],
      [92, (queue) => queue.tries("c", ["cash", "stock"])],
    );
    expect(waiter?.idleMs).toBe(32);
  });

  it("Waiters counts a claim as collected only if it covers the first of several resources", async () => {
    const several = { resources: ["stock", "cash", "mail"], timeoutMs: 100 };
    const collected: boolean[] = [];
    const ask = (queue: Waiters): void => {
      const claims = [["cash"], ["cash", "mail"], ["cash", "mail", "stock"], ["mail"], ["book"]];
      collected.push(...claims.map((resources) => queue.isCollected(resources)));
    };
    await waitersAfter([0, (queue) => void queue.enter(several)], [1, ask]);
    expect(collected).toEqual([true, true, false, false, false]);
  });

  it("Waiters measures how long all resources of a call are free of locks in every process", async () => {
    const [waiter] = await waitersAfter(
      [0, enter()],
      [10, (_, { locks }) => locks.calmDown()],
      [15, (_, { locks }) => locks.lock(["cash", "stock"], "exclusive")],
      [20, (_, { locks }) => locks.lock(["stock"], "exclusive")],
      [30, (_, { locks }) => locks.unlock(["cash", "stock"], "exclusive")],
      [40, (_, { locks }) => locks.unlock(["stock"], "exclusive")],
      [50, (_, { process }) => process.hold(100)],
      [60, leave(0)],
    );
    expect(waiter?.freeMs).toBe(10);
  });

  it("Waiters counts a shared lock as free for readers while no writer waits, and never for writers", async () => {
    const [reader, writer] = await waitersAfter(
      [0, (_, { locks }) => locks.calmDown()],
      [0, (_, { locks }) => locks.lock(["stock"], "shared")],
      [10, enter("shared")],
      [17, enter("exclusive")],
      [50, leave(1)],
      [62, (_, { locks }) => locks.lock(["stock"], "exclusive")],
      [99, leave(0)],
    );
    expect([reader?.freeMs, writer?.freeMs]).toEqual([12, 0]);
  });

  it("Waiters counts a reader as idle next to a shared lock of its own process, but not behind an exclusive one", async () => {
    const records = await waitersAfter(
      [0, enter("shared")],
      [1, succeed(0, "1.1", "reader")],
      [10, enter("shared")],
      [30, succeed(1, "1.2", "other reader")],
      [40, enter("exclusive")],
      [70, (queue) => queue.ends("reader")],
      [80, (queue) => queue.ends("other reader")],
      [85, succeed(2, "1.3", "writer")],
      [90, enter("shared")],
      [120, (queue) => queue.ends("writer")],
      [121, leave(3)],
    );
    expect(records.map(({ idleMs }) => idleMs)).toEqual([1, 20, 5, 1]);
  });

  it("Waiters counts a lock from when its caller gets it until it is released or lost", async () => {
    const free: [number, number | undefined][] = [];
    const note: Act = (_, { process, calls }) => void free.push([process.nowMs, calls.at(-1)?.freeMs]);
    await waitersAfter(
      [0, (_, { locks }) => locks.calmDown()],
      [0, enter()],
      [5, succeed(0, "1.1", "owner")],
      [5, enter()],
      [20, note],
      [30, (queue) => queue.ends("owner")],
      [33, succeed(1, "1.2", "ended before")],
      [33, note],
    );
    expect(free).toEqual([
      [20, 0],
      [33, 3],
    ]);
  });
});
