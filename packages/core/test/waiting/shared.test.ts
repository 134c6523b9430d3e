import type { Lock, LockOptions, Redlock, RedlockOptions } from "@holdfast/core";
import type { AcquireRequest, ReleaseRequest } from "@holdfast/core/node";
import { memoryNode } from "@holdfast/memory";
import { FaultyNode, VirtualClock } from "@holdfast/testkit";
import { describe, expect, it } from "vitest";
import { Claim } from "../../src/claim.ts";
import { contextOf } from "../support/context.ts";
import { type Crowd, crowd as crowdWith, dice } from "../support/crowd.ts";
import { claimOf, world } from "../world.ts";

const shared: LockOptions = { mode: "shared" };

/** Processes with a delay of 0.1 to 0.3 ms to each node, in both directions. */
function crowd(processes: number, nodeCount: number, options: RedlockOptions = {}) {
  const random = dice(7);
  return crowdWith(processes, nodeCount, () => 0.1 + random() * 0.2, options);
}

/** Returns the names of calls in the order in which they got their locks, and `take`, which makes such a call. */
function inOrder(redlock: Redlock) {
  const order: string[] = [];
  const take = async (name: string, options: LockOptions): Promise<Lock> => {
    const lock = await redlock.acquire("r", options);
    order.push(name);
    return lock;
  };
  /** The same, and releases the lock at once. */
  const visit = async (name: string, options: LockOptions): Promise<void> => (await take(name, options)).release();
  return { order, take, visit };
}

/** Checks that a writer is alone, and that tokens are in the order of the locks. */
function referee() {
  let readers = 0;
  let writers = 0;
  let readersMax = 0;
  let written = 0;
  let read = 0;
  return {
    get readersMax() {
      return readersMax;
    },
    enter({ fence }: Lock, isWriter: boolean): void {
      if (isWriter) {
        expect(readers + writers).toBe(0);
        expect(fence).toBeGreaterThan(Math.max(written, read));
        written = fence;
        writers += 1;
      } else {
        expect(writers).toBe(0);
        expect(fence).toBeGreaterThan(written);
        read = Math.max(read, fence);
        readers += 1;
        readersMax = Math.max(readersMax, readers);
      }
    },
    leave(isWriter: boolean): void {
      if (isWriter) writers -= 1;
      else readers -= 1;
    },
  };
}

describe("shared locks of one process", () => {
  it("acquire() of a reader stays behind an earlier writer that is overtaken twice while it tries", async () => {
    const { clock, redlock, nodes } = world(3);
    const slowTtlMs = 9_000;
    for (const node of nodes) {
      node.fault = ({ method, request }) => {
        const isSlow = method === "acquire" && (request as AcquireRequest).ttlMs === slowTtlMs;
        return { requestMs: isSlow ? 20 : 1, replyMs: method === "release" ? 10 : 1 };
      };
    }
    const { order, visit } = inOrder(redlock);
    const writer = visit("writer", { ttlMs: slowTtlMs });
    const reader = visit("reader", shared);
    const first = await clock.until(redlock.tryAcquire("r"));
    void first?.release();
    await clock.advance(1.5);
    const second = await clock.until(redlock.tryAcquire("r", shared)); // before the first release is confirmed
    expect(second).not.toBeNull();
    await clock.until((second as Lock).release());
    await clock.until(Promise.all([writer, reader]));
    expect(order).toEqual(["writer", "reader"]);
  });

  it("acquire() serves readers and writers first come, first served", async () => {
    const { clock, redlock } = world(3);
    const { order, take } = inOrder(redlock);
    const fences: Record<string, number> = {};
    const visit = async (name: string, options: LockOptions): Promise<void> => {
      const lock = await take(name, options);
      fences[name] = lock.fence;
      await new Promise<void>((resolve) => clock.deliver(name === "r1" ? 10 : 30, resolve));
      order.push(`-${name}`);
      await lock.release();
    };
    const calls = { r1: shared, r2: shared, w1: {}, r3: shared, r4: shared, w2: {}, r5: shared };
    await clock.until(Promise.all(Object.entries(calls).map(([name, options]) => visit(name, options))));
    expect(order.join(" ")).toBe("r1 r2 -r1 -r2 w1 -w1 r3 r4 -r3 -r4 w2 -w2 r5 -r5");
    for (const reader of ["r1", "r2"]) expect(fences.w1).toBeGreaterThan(fences[reader] as number);
  });

  it("acquire() of a reader does not pass an earlier writer whose attempt is under way", async () => {
    const { clock, redlock, nodes } = world(3);
    const { order, take } = inOrder(redlock);
    const first = await clock.until(take("r0", shared));
    for (const node of nodes) node.fault = () => ({ requestMs: 5, replyMs: 5 });
    void first.release(); // takes until 10
    await clock.advance(1);
    const r1 = take("r1", shared); // joins r0; granted at 11
    await clock.advance(9.5);
    const writing = take("w", {}); // at 10.5: nobody holds here, so its attempt starts; denied at 20.5
    await clock.advance(1);
    const r2 = take("r2", shared); // at 11.5: joins r1, although the writer was first
    await clock.advance(30);
    void (await r1).release();
    await clock.advance(30);
    void r2.then((lock) => lock.release());
    await clock.until(writing);
    await clock.until(r2);
    expect(order).toEqual(["r0", "r1", "w", "r2"]);
  });

  it("acquire() of a writer does not pass an earlier reader that tries to join", async () => {
    const { clock, redlock, inner, nodes } = world(3);
    const { order, take } = inOrder(redlock);
    const first = await clock.until(take("r0", shared));
    // A writer of another process asks, so the nodes let nobody join for a second.
    for (const node of inner) await node.acquire({ ...claimOf("x", "r", 9_000), waiter: "other" });
    for (const node of nodes) node.fault = () => ({ requestMs: 5, replyMs: 5 });
    const r1 = take("r1", shared); // at 0: tries to join; denied on the way, at 5
    void r1.then((lock) => lock.release());
    for (const node of nodes) node.fault = () => ({ requestMs: 1, replyMs: 1 });
    await clock.advance(5.5);
    void first.release(); // 5.5 to 7.5
    const writing = take("w", {}); // waits behind r1
    await clock.advance(60);
    void writing.then((lock) => lock.release());
    await clock.until(r1);
    await clock.until(writing);
    expect(order).toEqual(["r0", "r1", "w"]);
  });

  it("acquire() lets waiting readers try at the same time once one of them has a lock", async () => {
    const { clock, redlock, nodes } = world(3);
    const writer = await clock.until(redlock.acquire("r"));
    const waiting = Array.from({ length: 50 }, () => redlock.acquire("r", shared));
    await clock.advance(5);
    for (const node of nodes) node.fault = () => ({ requestMs: 5, replyMs: 5 });
    const fromMs = clock.monotonicMs();
    void writer.release();
    await clock.until(Promise.all(waiting));
    expect(clock.monotonicMs() - fromMs).toBeLessThanOrEqual(40);
  });

  it("acquire() of a joined reader that is denied waits before it tries again", async () => {
    const { clock, redlock, inner, nodes, events } = world(3);
    await clock.until(redlock.acquire("r", shared));
    // A writer of another program waits, so the nodes let nobody join.
    for (const node of inner) await node.acquire({ ...claimOf("x", "r", 9_000), waiter: "w" });
    for (const node of nodes) node.fault = () => ({ requestMs: 0.1, replyMs: 0.1 });
    const joined = redlock.acquire("r", shared);
    await clock.until(joined);
    const attempts = events.filter(([name]) => name === "attemptSettled").length;
    expect(attempts).toBeGreaterThan(2);
    expect(attempts).toBeLessThan(60);
  });

  it("extend() rejoins the other readers after a restart, node by node", async () => {
    const { clock, redlock, inner, otherClient } = world(3);
    const other = await clock.until(otherClient().acquire("r", { ...shared, ttlMs: 60_000 }));
    const lock = await clock.until(redlock.acquire("r", { ...shared, ttlMs: 60_000 }));
    for (const node of inner) {
      await node.release({ resources: ["r"], owner: lock.owner, timeoutMs: 50 });
      await clock.until(lock.extend({ ttlMs: 60_000 + clock.monotonicMs() }));
      expect((await node.inspect("r")).sharers).toHaveLength(2);
      await clock.advance(1);
    }
    await clock.until(other.release());
    const { state, mode, owner, holders } = await clock.until(redlock.inspect("r"));
    expect({ state, mode, owner }).toEqual({ state: "held", mode: "shared", owner: lock.owner });
    expect(holders).toHaveLength(1);
  });
});

describe("shared locks of several processes", () => {
  it("release() of a writer does not enter the waiting readers of its process in the lists as a writer", async () => {
    const { clock, redlock, nodes, otherClient } = world(3);
    const writer = await clock.until(redlock.acquire("r"));
    const otherWriting = otherClient().acquire("r");
    await clock.advance(20);
    const reading = redlock.acquire("r", shared);
    await clock.advance(60); // too long for a hand-over in the process
    await clock.until(writer.release());
    const releases = nodes.flatMap(({ calls }) => calls.filter(({ method }) => method === "release"));
    const requests = releases.map(({ request }) => request as ReleaseRequest);
    const waiters = requests.filter(({ owner }) => owner === writer.owner).map(({ waiter }) => waiter);
    expect(waiters).toEqual([undefined, undefined, undefined]);
    await clock.until((await clock.until(otherWriting)).release());
    await clock.until(reading);
  });

  /**
   * Lets calls of the other processes hold the resource for 5 ms each, again and again, and one process lock it for some
   * rounds. Returns for how long, and by how many writers, that one was passed at most.
   */
  async function passedBy(it: Crowd, calls: readonly LockOptions[], lone: LockOptions, rounds: number) {
    const { clock, redlocks, pause } = it;
    const [caller, ...busy] = redlocks as [Redlock, ...Redlock[]];
    let isOver = false;
    let writes = 0;
    const work = async (redlock: Redlock, options: LockOptions): Promise<void> => {
      while (!isOver) {
        const lock = await redlock.acquire("r", options);
        if (options !== shared) writes += 1;
        await pause(5);
        void lock.release();
      }
    };
    const working = busy.flatMap((redlock) => calls.map((options) => work(redlock, options)));
    await clock.advance(100);
    const most = { ms: 0, writers: 0 };
    for (let round = 0; round < rounds; round++) {
      const before = { ms: clock.monotonicMs(), writes };
      const lock = await clock.until(caller.acquire("r", lone));
      most.ms = Math.max(most.ms, clock.monotonicMs() - before.ms);
      most.writers = Math.max(most.writers, writes - before.writes);
      await clock.until(lock.release());
      await clock.advance(20);
    }
    isOver = true;
    await clock.until(Promise.all(working));
    return most;
  }

  it.each([
    ["writer", "readers", {}, [shared, shared, shared, shared]],
    ["reader", "writers", shared, [{}, {}, {}]],
  ])("acquire() of a %s is not kept out by %s that follow each other without a gap", async (_, __, lone, calls) => {
    expect((await passedBy(crowd(3, 3), calls, lone, 20)).ms).toBeLessThan(1_000);
  });

  it.each([2, 4])(
    "acquire() of a reader is passed by few writers of %i other processes, with readers of their own",
    async (others) => {
      expect((await passedBy(crowd(1 + others, 3), [{}, shared], shared, 40)).writers).toBeLessThanOrEqual(4);
    },
  );
});

describe("shared and exclusive locks on several resources", () => {
  it.each([
    [1, 1],
    [2, 2],
    [3, 3],
    [4, 5],
    [5, 3],
    [6, 3],
  ])(
    "acquire() excludes, orders tokens, and ends for all callers: drawing %i, over %i nodes",
    async (seed, nodeCount) => {
      const { clock, inner, redlocks, pause } = crowd(4, nodeCount, { ttlMs: 60_000 });
      const random = dice(seed);
      const judges = new Map(["a", "b", "c"].map((resource) => [resource, referee()]));
      const locks = { reader: 0, writer: 0 };
      const visit = async (redlock: Redlock): Promise<void> => {
        const resources = ["a", "b", "c"].filter(() => random() < 0.5);
        const isWriter = random() < 0.4;
        const options = { mode: isWriter ? "exclusive" : "shared", signal: signalThatMayAbort(random, pause) } as const;
        const names = resources.length > 0 ? resources : ["a"];
        const call = random() < 0.2 ? redlock.tryAcquire(names, options) : redlock.acquire(names, options);
        const lock = await call.catch(() => null);
        if (lock === null) return pause(random());
        locks[isWriter ? "writer" : "reader"] += 1;
        for (const resource of lock.resources) judges.get(resource)?.enter(lock, isWriter);
        await pause(random() * 4);
        for (const resource of lock.resources) judges.get(resource)?.leave(isWriter);
        await lock.release();
      };
      const work = async (redlock: Redlock): Promise<void> => {
        for (let round = 0; round < 25; round++) await visit(redlock);
      };
      await clock.until(Promise.all(redlocks.flatMap((redlock) => [1, 2, 3].map(() => work(redlock)))), 200_000);
      expect(locks.reader).toBeGreaterThan(50);
      expect(locks.writer).toBeGreaterThan(30);
      expect(Math.max(...[...judges.values()].map(({ readersMax }) => readersMax))).toBeGreaterThan(3);
      await clock.until(Promise.all(redlocks.map((redlock) => redlock.close())));
      for (const node of inner) {
        for (const resource of judges.keys()) expect(await node.inspect(resource)).toMatchObject({ owner: null });
      }
    },
  );
});

/** Returns a signal that aborts after a moment in one of five cases. */
function signalThatMayAbort(random: () => number, pause: (ms: number) => Promise<void>): AbortSignal {
  const controller = new AbortController();
  if (random() < 0.2) void pause(random() * 20).then(() => controller.abort());
  return controller.signal;
}

describe("claims of shared locks", () => {
  it("release() is followed by another one if a late reply shows a grant that may have joined others", async () => {
    const { clock, redlock, inner, node, otherClient } = world(3);
    node("c").fault = ({ method }) => (method === "acquire" ? { replyMs: 8 } : { replyMs: 5 });
    const lock = await clock.until(redlock.acquire("r", shared));
    await clock.until(otherClient().acquire("r", shared));
    await clock.advance(5);
    const releasing = lock.release();
    await clock.advance(1);
    const [copy] = node("c").calls;
    const reply = await inner[2]?.acquire(copy?.request as AcquireRequest);
    expect(reply).toEqual({ granted: true, fence: lock.fence });
    await clock.until(releasing);
    await clock.advance(20);
    for (const view of await Promise.all(inner.map((each) => each.inspect("r")))) expect(view.sharers).toHaveLength(1);
  });

  it("replacePredecessor() releases a claim that a node granted beside the one that took it over", async () => {
    const clock = new VirtualClock();
    const inner = memoryNode({ clock });
    const node = new FaultyNode(inner, clock);
    node.fault = ({ request }) => ({ requestMs: request.takeover === undefined ? 5 : 1, replyMs: 1 });
    const context = contextOf([node], clock);
    const settings = { nodeTimeoutMs: 50, mode: "shared" } as const;
    const rule = { quorum: context.majority, isYes: () => true, isDecided: () => false };
    const terms = { ttlMs: 1_000, fenceHint: 1, timeoutMs: 50, waiter: undefined };
    const first = new Claim(context, ["a"], "first", settings);
    const second = new Claim(context, ["a", "b"], "second", settings);
    void first.acquire({ ...terms, predecessor: undefined }, rule);
    const takingOver = second.acquire({ ...terms, predecessor: first }, rule);
    await clock.advance(10); // the takeover overtakes the claim that it takes over
    await clock.until(takingOver);
    expect((await inner.inspect("a")).sharers).toHaveLength(2);
    second.replacePredecessor();
    await clock.advance(10);
    expect((await inner.inspect("a")).sharers).toEqual([expect.objectContaining({ owner: "second" })]);
  });
});
