import { memoryNode } from "@holdfast/memory";
import { fuzzSeed, isNightly, VirtualClock } from "@holdfast/testkit";
import { watchForSleepers } from "@holdfast/testkit/sleepers";
import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import type { AttemptFailed } from "../../src/attempt.ts";
import { Claim } from "../../src/claim.ts";
import { NodeSets } from "../../src/node-sets.ts";
import { parseRedlockOptions, type Settings } from "../../src/options.ts";
import { LocalQueues, type Waiter } from "../../src/waiting/index.ts";
import { WaiterGroup } from "../../src/waiting/resource-queue.ts";
import { contextOf } from "../support/context.ts";

fc.configureGlobal({ seed: fuzzSeed });
const numRuns = isNightly ? 1_000 : 300;

const sets = new NodeSets([memoryNode()]);
const settings = {
  ...parseRedlockOptions({}, sets).settings,
  waitTimeoutMs: 60_000,
  retryDelayMs: 10,
  retryDelayMaxMs: 10,
};
const names = ["a", "b", "c", "d"];

function createQueues(maxWaiters = 100_000, nodeCount = 1) {
  const clock = new VirtualClock();
  const nodes = Array.from({ length: nodeCount }, (_, index) => memoryNode({ name: `node ${index}`, clock }));
  const context = contextOf(nodes, clock);
  const queues = new LocalQueues(context, maxWaiters);
  const claim = () => new Claim(context, ["r"], "owner", { nodeTimeoutMs: 50, mode: "exclusive" });
  return { clock, queues, claim, quorum: context.majority };
}

/** A step, applied to one of the waiters in a suitable state, which `pick` selects. */
const anyStep = fc.record({
  kind: fc.constantFrom("enqueue", "enqueue", "enqueue", "win", "win", "fail", "release", "release", "give up", "wait"),
  pick: fc.nat(),
  resources: fc.uniqueArray(fc.constantFrom(...names), { minLength: 1, maxLength: 3 }),
});

/**
 * The simplest queue, regardless of cost: one list of all waiters, scanned from the front after every step. It reads
 * from the real queue which resources are reserved for waiters that were passed too often.
 */
class NaiveQueue {
  readonly waiters: { waiter: Waiter; state: "queued" | "attempting" | "holding"; wanted: readonly string[] }[] = [];
  readonly blockedUntilMs = new Map<string, number>();

  settle(nowMs: number): void {
    const taken = new Set<string>();
    for (const { waiter, state, wanted } of this.waiters) {
      if (state !== "queued") for (const name of wanted) taken.add(name);
      else for (const name of waiter.resources.slice(0, waiter.collectedCount)) taken.add(name);
    }
    for (const entry of this.waiters) {
      if (entry.state !== "queued") continue;
      const { waiter } = entry;
      const isAlone = waiter.queues.length === 0;
      const wanted = isAlone ? waiter.resources : waiter.wanted.map(({ resource }) => resource);
      const missing = wanted.slice(waiter.collectedCount);
      const isFree = (name: string) => !taken.has(name) && (this.blockedUntilMs.get(name) ?? -Infinity) <= nowMs;
      if (missing.every(isFree)) {
        entry.state = "attempting";
        entry.wanted = wanted;
        for (const name of wanted) taken.add(name);
      } else {
        // Later waiters cannot have the resources that are reserved for this one.
        for (const { resource, holder } of waiter.queues) if (holder === waiter) taken.add(resource);
      }
    }
  }
}

describe("LocalQueues compared with a naive queue", { timeout: 30_000 }, () => {
  it("LocalQueues lets the same waiters try as the naive queue, in order of arrival, and ends empty", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyStep, { minLength: 1, maxLength: 200 }), async (steps) => {
        const { clock, queues, claim } = createQueues();
        const findSleeper = watchForSleepers();
        const naive = new NaiveQueue();
        let delays = 0;
        const remove = (waiter: Waiter) => {
          const index = naive.waiters.findIndex((entry) => entry.waiter === waiter);
          naive.waiters.splice(index, 1);
        };
        const pick = (state: string, index: number) => {
          const some = naive.waiters.filter((entry) => entry.state === state);
          return some[index % some.length];
        };
        for (const { kind, pick: index, resources } of steps) {
          if (kind === "enqueue") {
            const waiter = queues.enqueue(Object.freeze([...resources].sort()), settings, true);
            naive.waiters.push({ waiter, state: "queued", wanted: waiter.resources });
          } else if (kind === "win") {
            const entry = pick("attempting", index);
            if (entry === undefined) continue;
            queues.begin(entry.waiter);
            const isComplete = queues.won(entry.waiter, claim(), clock.monotonicMs());
            entry.state = isComplete ? "holding" : "queued";
            if (isComplete) entry.wanted = entry.waiter.resources;
          } else if (kind === "fail") {
            const entry = pick("attempting", index);
            if (entry === undefined) continue;
            queues.begin(entry.waiter);
            const missing = entry.wanted.slice(entry.waiter.collectedCount);
            const heldResources = [missing[index % missing.length] as string];
            const votes = [{ kind: "denied", heldResources }] as const;
            // A different delay each time: if two ended together, either might be noticed first.
            delays += 1;
            const delayMs = 9 + delays / 100;
            vi.spyOn(Math, "random").mockReturnValue(delayMs / settings.retryDelayMaxMs);
            const failure: AttemptFailed = { outcome: "held", votes, tookMs: 1 };
            queues.failed(entry.waiter, failure);
            for (const name of heldResources) naive.blockedUntilMs.set(name, clock.monotonicMs() + delayMs);
            entry.state = "queued";
          } else if (kind === "release" || kind === "give up") {
            const entry = pick(kind === "release" ? "holding" : index % 2 === 0 ? "queued" : "attempting", index);
            if (entry === undefined) continue;
            queues.leave(entry.waiter);
            if (kind === "release") for (const name of entry.wanted) naive.blockedUntilMs.delete(name);
            remove(entry.waiter);
            for (const name of entry.waiter.resources) {
              const isWanted = naive.waiters.some(({ waiter }) => waiter.resources.includes(name));
              if (!isWanted) naive.blockedUntilMs.delete(name); // a call for a resource without users tries immediately
            }
          } else {
            for (const endMs of [...naive.blockedUntilMs.values()].sort((a, b) => a - b)) naive.settle(endMs);
            await clock.advance(20);
          }
          naive.settle(clock.monotonicMs());
          const expected = naive.waiters.map(({ waiter, state }) => `${waiter.order} ${waiter.resources} ${state}`);
          const actual = naive.waiters.map(({ waiter }) => `${waiter.order} ${waiter.resources} ${waiter.state}`);
          expect(actual).toEqual(expected);
          expect(findSleeper(clock.monotonicMs())).toBeUndefined();
        }
        for (const { waiter } of naive.waiters) queues.leave(waiter);
        await clock.advance(2000);
        expect(queues.isEmpty).toBe(true);
        expect(clock.pendingTimers).toBe(0);
        vi.restoreAllMocks();
      }),
      { numRuns },
    );
  });
});

/** A step of a random program. It applies to one of the calls in a suitable state, which `pick` selects. */
const anyCallStep = fc.record({
  kind: fc.constantFrom(
    "enqueue",
    "enqueue",
    "win",
    "win",
    "deny",
    "deny",
    "deny",
    "release",
    "give up",
    "try",
    "wait",
  ),
  pick: fc.nat(),
  isShared: fc.boolean(),
  resources: fc.uniqueArray(fc.constantFrom("a", "b", "c"), { minLength: 1, maxLength: 3 }),
  waitMs: fc.constantFrom(0, 5, 150, 600),
});

describe("random programs of calls for exclusive and shared locks (W8)", { timeout: 60_000 }, () => {
  it("LocalQueues has something that will wake each queued call, after every step, and ends empty", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyCallStep, { minLength: 20, maxLength: 200 }), async (steps) => {
        const { clock, queues, claim } = createQueues();
        const findSleeper = watchForSleepers();
        const calls: Waiter[] = [];
        const pick = (state: Waiter["state"], index: number): Waiter | undefined => {
          const some = calls.filter((call) => call.state === state);
          return some[index % some.length];
        };
        const waits = new Map<Waiter, Promise<void>>();
        const requeue = (call: Waiter): void => {
          const before = waits.get(call) ?? Promise.resolve();
          waits.set(
            call,
            before.then(() => queues.next(call, Infinity)),
          );
        };
        const win = (call: Waiter): void => {
          queues.begin(call);
          queues.won(call, claim(), clock.monotonicMs());
          requeue(call);
        };
        for (const { kind, pick: index, isShared, resources, waitMs } of steps) {
          const names = Object.freeze([...resources].sort());
          const mode = isShared ? "shared" : "exclusive";
          if (kind === "enqueue" || kind === "try") {
            const call = queues.enqueue(names, { ...settings, ttlMs: 1_000, mode }, kind === "enqueue");
            calls.push(call);
            if (kind === "try") win(call);
            else requeue(call);
          } else if (kind === "win" || kind === "deny") {
            const call = pick("attempting", index);
            if (call === undefined) continue;
            if (kind === "win") win(call);
            else {
              const { wanted } = queues.begin(call);
              const held = wanted[index % wanted.length] as string;
              const vote = { kind: "denied", ...(isShared ? {} : { heldResources: [held] }) } as const;
              queues.failed(call, { outcome: "held", votes: [vote], tookMs: 1 });
              requeue(call);
            }
          } else if (kind === "wait") await clock.advance(waitMs);
          else {
            const call = pick(kind === "release" ? "holding" : index % 2 === 0 ? "queued" : "attempting", index);
            if (call === undefined) continue;
            const isTaken = kind === "release" ? queues.handOver(call, claim()) : undefined;
            if (isTaken !== undefined) void isTaken.then(() => queues.leave(call));
            else {
              if (kind === "release") queues.releaseHints(call);
              queues.leave(call);
              call.pause?.wake();
            }
          }
          await Promise.resolve();
          expect(findSleeper(clock.monotonicMs())).toBeUndefined();
        }
        for (const call of calls) {
          queues.leave(call);
          call.pause?.wake();
        }
        await clock.advance(3_000);
        expect(queues.isEmpty).toBe(true);
        expect(clock.pendingTimers).toBe(0);
      }),
      { numRuns },
    );
  });
});

describe("calls that something must wake (W8)", () => {
  /** Queues with short names for what happens to a call. */
  function setUp(given: Partial<Settings> = {}, nodeCount = 1) {
    const { clock, queues, claim, quorum } = createQueues(undefined, nodeCount);
    const findSleeper = watchForSleepers();
    const of =
      (mode: "exclusive" | "shared", mayWait: boolean) =>
      (...resources: string[]) =>
        queues.enqueue(Object.freeze(resources), { ...settings, quorum, ...given, mode }, mayWait);
    const win = (waiter: Waiter): Waiter => {
      expect(waiter.state).toBe("attempting");
      queues.begin(waiter);
      queues.won(waiter, claim(), clock.monotonicMs());
      return waiter;
    };
    /** Each node names one of the resources. */
    const denyEach = (waiter: Waiter, resources: readonly string[], meanwhile?: () => void): void => {
      expect(waiter.state).toBe("attempting");
      queues.begin(waiter);
      meanwhile?.();
      const votes = resources.map((resource) => ({ kind: "denied", heldResources: [resource] }) as const);
      queues.failed(waiter, { outcome: "held", votes, tookMs: 1 });
    };
    const deny = (waiter: Waiter, resource: string, meanwhile?: () => void): void => {
      denyEach(waiter, new Array(nodeCount).fill(resource), meanwhile);
    };
    const expectAwake = (): void => expect(findSleeper(clock.monotonicMs())).toBeUndefined();
    const lock = of("exclusive", true);
    const share = of("shared", true);
    const tryLock = of("exclusive", false);
    const tryShare = of("shared", false);
    /** Lets another call of the process pass: it locks the resource, and releases it. */
    const pass = (resource: string): void => queues.leave(win(tryLock(resource)));
    /** Denies `z` to a waiter as often as it takes until it collects what it wants. */
    const collect = async (waiter: Waiter, lastMs = 150): Promise<void> => {
      for (let denials = 0; denials < 4; denials++) {
        deny(waiter, "z");
        await clock.advance(denials < 3 ? 150 : lastMs);
      }
    };
    /** Returns a waiter for `a` and `z` that collects them, as other calls have passed it. */
    const collecting = async (enqueue = lock, lastMs = 150): Promise<Waiter> => {
      const waiter = enqueue("a", "z");
      pass("a");
      pass("z");
      await collect(waiter, lastMs);
      return waiter;
    };
    const does = { win, deny, denyEach, pass, collect, collecting };
    return { clock, queues, claim, lock, share, tryLock, tryShare, ...does, expectAwake };
  }

  it("leave() serves an older waiter before the rest of the leaving waiter's group", async () => {
    const { clock, queues, lock, deny } = setUp();
    const oldest = lock("a", "d");
    const giving = lock("d");
    deny(oldest, "a");
    const youngest = lock("d");
    expect([oldest.state, giving.state, youngest.state]).toEqual(["queued", "attempting", "queued"]);
    await clock.advance(20); // another attempt on a is due, and d blocks
    queues.leave(giving);
    expect([oldest.state, youngest.state]).toEqual(["attempting", "queued"]);
  });

  it("leave() leaves the resources of a lock that only one call used to a process that its release has named", async () => {
    const { clock, queues, lock, win, expectAwake } = setUp();
    queues.leave(win(lock("a", "b")), [{ kind: "released", next: "another process" }]);
    const next = lock("b");
    expect(next.state).toBe("queued");
    expectAwake();
    await clock.advance(20); // the longest delay between attempts is 10 ms
    expect(next.state).toBe("attempting");
    queues.leave(next);
    await clock.advance(60_000);
    expect(queues.isEmpty).toBe(true);
  });

  it("failed() lets a collecting waiter continue although an older waiter wants what it has collected", async () => {
    const { clock, queues, lock, win, deny, collecting } = setUp();
    const holder = win(lock("c"));
    const older = lock("a", "c");
    const collector = await collecting();
    win(collector);
    expect(collector.collectedCount).toBe(1);
    while (collector.state === "queued") await clock.advance(5);
    deny(collector, "z");
    queues.leave(holder);
    expect(older.state).toBe("queued");
    await clock.advance(1000);
    expect(collector.state).toBe("attempting");
  });

  it("won() leaves no call behind as the holder of what it had collected and shared", async () => {
    const { clock, queues, lock, share, tryShare, win, deny, expectAwake, collecting } = setUp();
    const collector = await collecting(share, 0);
    const reader = win(tryShare("a"));
    const another = share("a");
    expect(another.state).toBe("attempting"); // joins the reader
    await clock.advance(20);
    expect([collector.state, collector.isCollecting]).toEqual(["attempting", true]); // joins them, too
    queues.leave(reader);
    win(collector);
    expect(collector.state).toBe("attempting"); // has collected a, and tries both
    deny(collector, "z");
    queues.leave(another);
    queues.leave(collector);
    expectAwake();
    expect(lock("a").state).toBe("attempting");
  });

  it("next() still counts the denials of a waiter that gives up what it had only reserved (W2)", async () => {
    const { clock, queues, lock, deny, pass } = setUp();
    const waiter = lock("a", "z");
    for (let passes = 0; passes < 4; passes++) {
      pass("a");
      pass("z");
    }
    for (let denials = 0; denials < 3; denials++) {
      deny(waiter, "z");
      expect([waiter.isReserving, waiter.isCollecting]).toEqual([true, false]);
      await clock.advance(90);
    }
    deny(waiter, "z");
    const waiting = queues.next(waiter, Infinity);
    expect([waiter.isReserving, waiter.isCollecting]).toEqual([false, false]);
    await clock.until(waiting);
    await clock.advance(150);
    pass("a");
    pass("z");
    deny(waiter, "z");
    expect(waiter.isCollecting).toBe(true);
  });

  it("failed() lets a waiter that lost what it had collected go before later calls (W3)", async () => {
    const { lock, win, deny, expectAwake, collecting } = setUp();
    const collector = await collecting();
    win(collector); // has collected a, and tries both
    expect(collector.collectedCount).toBe(1);
    const later = lock("a");
    deny(collector, "a", () => collector.queues[0]?.hint(-Infinity)); // a release was announced meanwhile
    expectAwake();
    expect([collector.state, collector.isCollecting, later.state]).toEqual(["attempting", false, "queued"]);
  });

  it("failed() keeps what a waiter has collected while only a few nodes deny it (W2)", async () => {
    const { clock, win, denyEach, collecting } = setUp({}, 3);
    const collector = await collecting();
    win(collector); // has collected a, and tries both
    denyEach(collector, ["a", "z", "z"]);
    expect(collector.collectedCount).toBe(1);
    await clock.advance(20);
    denyEach(collector, ["a", "z", "a"]); // no quorum has kept a
    expect(collector.collectedCount).toBe(0);
  });

  it("failed() lets a waiter wait for what no quorum is left of, not for what a few nodes deny (W3)", () => {
    const { lock, denyEach } = setUp({}, 3);
    const waiter = lock("a", "b");
    denyEach(waiter, ["a", "b", "b"]);
    expect(waiter.group?.parkedAt?.resource).toBe("b");
    const other = lock("c", "d");
    denyEach(other, ["c", "d", "neither"]);
    expect(other.group?.parkedAt?.resource).toBe("c");
  });

  it("failed() lets a waiter try again before later calls, although it waits at another of the delayed resources (W3)", async () => {
    const { clock, queues, lock } = setUp();
    const earlier = lock("a", "b", "c");
    const later = [lock("b", "d"), lock("c", "e")];
    queues.begin(earlier);
    queues.failed(earlier, { outcome: "unreachable", votes: [undefined], tookMs: 1 });
    const states = () => [earlier, ...later].map(({ state }) => state);
    expect(states()).toEqual(["queued", "queued", "queued"]);
    await clock.advance(10);
    expect(states()).toEqual(["attempting", "queued", "queued"]);
  });

  it("next() gives up what a waiter has collected half a ttl after the claim, however long that took (W2)", async () => {
    const { clock, queues, lock, tryLock, win, deny, collecting } = setUp({ ttlMs: 100 });
    const collector = await collecting(lock, 0);
    for (let denials = 0; denials < 10; denials++) {
      const due = queues.next(collector, Infinity);
      await clock.advance(15);
      await due;
      expect(collector.isCollecting).toBe(true);
      if (denials < 9) deny(collector, "a");
    }
    const holder = win(tryLock("z"));
    win(collector);
    const next = queues.next(collector, Infinity); // waits for the holder of z
    expect([collector.state, collector.collectedCount]).toEqual(["queued", 1]);
    await clock.advance(40);
    expect(collector.collectedCount).toBe(1);
    await clock.advance(20);
    expect(collector.collectedCount).toBe(0);
    queues.leave(holder);
    await clock.until(next);
  });

  it("leave() lets a waiter that has just begun to collect try, although an older one waits for the rest", async () => {
    const { queues, lock, tryLock, win, deny, pass, expectAwake, collect } = setUp();
    const blocker = win(lock("x"));
    const older = lock("x", "z");
    const collector = lock("a", "z");
    await collect(collector);
    const holder = win(tryLock("a"));
    deny(collector, "z"); // waits for a
    queues.leave(blocker); // the older one waits for z
    pass("z");
    deny(older, "z");
    queues.leave(holder);
    expectAwake();
    expect([collector.state, collector.isCollecting, older.state]).toEqual(["attempting", true, "queued"]);
  });

  it("handOver() moves no waiter to the front of a resource that it does not want any more", async () => {
    const { queues, claim, lock, tryLock, win, deny, pass, expectAwake, collect } = setUp();
    const waiter = lock("a", "z");
    await collect(waiter);
    const holder = win(tryLock("z"));
    deny(waiter, "z"); // waits for the holder
    pass("a"); // now it may collect
    void queues.handOver(holder, claim());
    expectAwake();
    queues.leave(holder);
    expect(waiter.state).toBe("attempting");
  });

  it("failed() reserves nothing that an older call waits for", () => {
    const { queues, lock, win, deny, pass, expectAwake } = setUp();
    const holder = win(lock("c"));
    const older = lock("b", "c");
    const later = lock("a", "b");
    for (let passes = 0; passes < 4; passes++) {
      pass("a");
      pass("b");
    }
    queues.leave(holder);
    expect(older.state).toBe("queued"); // behind the attempt for b
    deny(later, "a");
    expectAwake();
    expect([older.state, later.isReserving]).toEqual(["attempting", true]);
  });

  it("park() shortens a delay to the delays of an impatient call", async () => {
    const { clock, queues, lock, deny, expectAwake } = setUp();
    vi.spyOn(Math, "random").mockReturnValue(0.9);
    const patient = queues.enqueue(["a"], { ...settings, retryDelayMs: 4_000, retryDelayMaxMs: 4_000 }, true);
    deny(patient, "a");
    const impatient = lock("a");
    queues.leave(patient);
    expectAwake();
    await clock.advance(25);
    expect(impatient.state).toBe("attempting");
  });

  it("releaseHints() lets readers join that were behind a waiter for other resources as well", () => {
    const { queues, claim, lock, share, win, expectAwake } = setUp();
    const first = win(share("a"));
    const other = lock("b");
    const both = lock("a", "b");
    const second = share("a");
    expect([other.state, both.state, second.state]).toEqual(["attempting", "queued", "queued"]);
    expect(queues.handOver(first, claim())).toBeUndefined();
    queues.releaseHints(first);
    expectAwake();
    expect(second.state).toBe("attempting");
  });
});

describe("the cost of a queue (W4)", { timeout: 30_000 }, () => {
  const count = 2_000;

  /** Counts how often the order of waiters is read during `act`. */
  function comparisons(act: () => void): number {
    const order = vi.spyOn(WaiterGroup.prototype, "order", "get");
    act();
    const { length } = order.mock.calls;
    order.mockRestore();
    return length;
  }

  it.each([
    ["for [hot, x_i]", (index: number) => ["hot", `x${index}`]],
    ["for the same three", () => ["hot", "warm", "x"]],
    ["for one of two sets", (index: number) => (index < count / 2 ? ["a", "b", "hot"] : ["a", "hot"])],
    ["for one", () => ["hot"]],
  ])("enqueue(), won() and leave() cost O(log n) each with thousands of waiters %s", (_, resourcesOf) => {
    const { queues, claim } = createQueues();
    const holder = queues.enqueue(["a", "hot"], settings, true);
    queues.won(holder, claim(), 0);
    let waiters: Waiter[] = [];
    const bound = count * 4 * Math.log2(count);
    const join = () => {
      waiters = Array.from({ length: count }, (_, index) => queues.enqueue(resourcesOf(index), settings, true));
    };
    expect(comparisons(join)).toBeLessThan(bound);
    const leave = () => {
      for (const waiter of waiters) queues.leave(waiter);
    };
    expect(comparisons(leave)).toBeLessThan(bound);
    join();
    const serve = () => {
      queues.leave(holder);
      for (const waiter of waiters) {
        expect(waiter.state).toBe("attempting");
        queues.begin(waiter);
        expect(queues.won(waiter, claim(), 0)).toBe(true);
        queues.leave(waiter);
      }
    };
    expect(comparisons(serve)).toBeLessThan(2 * bound);
    expect(queues.isEmpty).toBe(true);
  });
});
