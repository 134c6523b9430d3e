import { type Lock, Redlock, type RedlockOptions } from "@holdfast/core";
import { type MemoryNode, memoryNode } from "@holdfast/memory";
import { FaultyNode, VirtualClock } from "@holdfast/testkit";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { world } from "./world.ts";

/** Random numbers from 0 to 1 that are the same in each run. */
function dice(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
}

interface Crowd {
  readonly clock: VirtualClock;
  readonly inner: readonly MemoryNode[];
  readonly clients: readonly { readonly redlock: Redlock; readonly nodes: readonly FaultyNode[] }[];
}

/** Clients in processes of their own, all messages of which take a moment. */
function crowd(clientCount: number, nodeCount: number, options: RedlockOptions = {}, seed = 1): Crowd {
  const clock = new VirtualClock();
  const random = dice(seed);
  const travelMs = (): number => 0.1 + random() * (random() < 0.05 ? 1 : 0.1);
  const inner = Array.from({ length: nodeCount }, (_, index) => memoryNode({ name: `node ${index}`, clock }));
  const clients = Array.from({ length: clientCount }, () => {
    const nodes = inner.map((node) => {
      const faulty = new FaultyNode(node, clock);
      faulty.fault = () => ({ requestMs: travelMs(), replyMs: travelMs() });
      faulty.announcement = (deliver) => clock.deliver(travelMs(), deliver);
      return faulty;
    });
    return { nodes, redlock: new Redlock(nodes, { clock, waitTimeoutMs: 30_000, ...options }) };
  });
  return { clock, inner, clients };
}

/** Jain's index: 1 if all have the same share, 1/n if one has all. */
function fairness(shares: readonly number[]): number {
  const sum = shares.reduce((total, share) => total + share, 0);
  return sum ** 2 / (shares.length * shares.reduce((total, share) => total + share ** 2, 0));
}

/** Has workers of all clients hold the same lock for a millisecond, again and again. */
async function contend({ clock, clients }: Crowd, workers: number, forMs: number) {
  const locks = clients.map(() => 0);
  const waitsMs: number[] = [];
  let inside = 0;
  const work = async (redlock: Redlock, client: number): Promise<void> => {
    while (clock.monotonicMs() < forMs) {
      const calledAtMs = clock.monotonicMs();
      const lock = await redlock.acquire("hot");
      waitsMs.push(clock.monotonicMs() - calledAtMs);
      locks[client] = (locks[client] ?? 0) + 1;
      inside += 1;
      expect(inside).toBe(1);
      await new Promise<void>((resolve) => clock.deliver(1, resolve));
      inside -= 1;
      await lock.release();
    }
  };
  const all = clients.flatMap(({ redlock }, client) => Array.from({ length: workers }, () => work(redlock, client)));
  await clock.until(Promise.all(all), 10 * forMs + 120_000);
  return { locks, longestWaitMs: Math.max(...waitsMs), count: waitsMs.length };
}

afterEach(() => {
  vi.restoreAllMocks();
});

describe("turns between processes", () => {
  // Random names decide whose turn it is where nothing else does.
  beforeEach(() => {
    vi.spyOn(Math, "random").mockImplementation(dice(7));
    const random = dice(11);
    vi.spyOn(crypto, "getRandomValues").mockImplementation((bytes) => {
      if (bytes instanceof Uint32Array) for (const index of bytes.keys()) bytes[index] = random() * 2 ** 32;
      return bytes;
    });
  });

  it.each([1, 2, 3, 4, 5])(
    "eight processes of ten workers share a lock on %i nodes evenly, at little cost",
    async (nodeCount) => {
      const it = crowd(8, nodeCount);
      const { locks, longestWaitMs, count } = await contend(it, 10, 2000);
      expect(count).toBeGreaterThan(1000);
      expect(fairness(locks)).toBeGreaterThan(0.95);
      expect(longestWaitMs).toBeLessThan(1000);
      for (let node = 0; node < nodeCount; node++) {
        const calls = it.clients.flatMap(({ nodes }) => nodes[node]?.calls ?? []);
        expect(calls.length / count).toBeLessThan(1.6);
      }
      await it.clock.advance(10_000);
      for (const node of it.inner) expect(await node.inspect("hot")).toMatchObject({ owner: null });
      expect(it.clock.pendingTimers).toBe(0);
    },
  );

  it.each([2, 3, 5])("processes of one worker share a lock on %i nodes evenly", async (nodeCount) => {
    const it = crowd(5, nodeCount);
    const { locks, count } = await contend(it, 1, 2000);
    expect(fairness(locks)).toBeGreaterThan(0.9);
    expect(count).toBeGreaterThan(600);
  });

  it.each([2, 5])("processes that hear of no release still share a lock on %i nodes", async (nodeCount) => {
    const it = crowd(4, nodeCount);
    for (const { nodes } of it.clients) for (const node of nodes) node.announcement = () => {};
    const { locks } = await contend(it, 5, 10_000);
    for (const share of locks) expect(share).toBeGreaterThan(0);
  });

  it("processes that hear of each release three times, and late, share a lock evenly", async () => {
    const it = crowd(4, 3);
    for (const { nodes } of it.clients) {
      for (const node of nodes) {
        node.announcement = (deliver) => {
          for (const delayMs of [0.1, 0.5, 30]) it.clock.deliver(delayMs, deliver);
        };
      }
    }
    const { locks } = await contend(it, 5, 2000);
    expect(fairness(locks)).toBeGreaterThan(0.8);
  });

  it.each(["rejects", "never settles", "is not there"])(
    "a lock is got by trying again where watch() %s",
    async (how) => {
      const it = crowd(3, 3);
      for (const { nodes } of it.clients) {
        for (const node of nodes) {
          if (how === "is not there") delete node.watch;
          else node.watch = () => (how === "rejects" ? Promise.reject(new Error("no")) : new Promise(() => {}));
        }
      }
      const { locks } = await contend(it, 3, 3000);
      for (const share of locks) expect(share).toBeGreaterThan(0);
    },
  );
});

/** No back-off that could be mistaken for a wake-up: each lasts almost five seconds. */
const patient: RedlockOptions = {
  retryDelayMs: 5000,
  retryDelayMaxMs: 5000,
  waitTimeoutMs: 60_000,
  nodeTimeoutMs: 500,
};

describe("wake-ups", () => {
  beforeEach(() => {
    vi.spyOn(Math, "random").mockReturnValue(0.999);
  });

  it("a release by another process is followed by the next lock within two round trips", async () => {
    const { redlock, clock, nodes, rival } = world(5, patient);
    const other = await rival().acquire("r");
    for (const node of nodes) {
      node.fault = () => ({ requestMs: 10, replyMs: 10 });
      node.announcement = (deliver) => clock.deliver(10, deliver);
    }
    const pending = redlock.acquire("r");
    await clock.advance(1000);
    await other.release();
    await clock.until(pending);
    expect(clock.monotonicMs()).toBe(1000 + 10 + 20);
  });

  it("a release that is announced while an attempt is under way counts for the time after it", async () => {
    const { redlock, clock, nodes, node, rival } = world(3, patient);
    const other = await rival().acquire("r");
    for (const each of nodes) each.fault = () => ({ requestMs: 10, replyMs: 100 });
    const pending = redlock.acquire("r");
    // The first attempt is denied at 10 and lost at 110; the watches stand at 220, and the second attempt is denied at 230.
    await clock.advance(250);
    expect(node("a").callsOf("acquire")).toHaveLength(2);
    await other.release();
    await clock.until(pending);
    expect(clock.monotonicMs()).toBe(330 + 110);
  });

  it("an attempt waits a moment for a quorum of nodes to announce the release, and is made as soon as they have", async () => {
    const { redlock, clock, inner, node } = world(5, patient);
    const claim = { resources: ["r"], owner: "rival", ttlMs: 60_000, fenceHint: 1, timeoutMs: 50 };
    for (const each of inner) await each.acquire(claim);
    const pending = redlock.acquire("r");
    await clock.advance(100);
    const attempts = node("a").callsOf("acquire").length;
    for (const each of inner.slice(0, 2)) await each.release(claim);
    await clock.advance(2);
    expect(node("a").callsOf("acquire")).toHaveLength(attempts);
    await inner[2]?.release(claim);
    await clock.until(pending);
    expect(clock.monotonicMs()).toBe(102);
    expect(node("a").callsOf("acquire")).toHaveLength(attempts + 1);
  });

  it("a lost wake-up costs at most one back-off", async () => {
    const { redlock, clock, nodes, rival } = world(3, { ...patient, retryDelayMaxMs: 5000 });
    for (const node of nodes) node.announcement = () => {};
    const other = await rival().acquire("r");
    const pending = redlock.acquire("r");
    await clock.advance(1000);
    await other.release();
    await clock.until(pending);
    expect(clock.monotonicMs()).toBeLessThanOrEqual(1000 + 5000);
  });

  it("a waiter that gives up makes nobody ask the nodes who stands before it", async () => {
    const it = world(3, patient);
    const other = await it.rival().acquire("r");
    const first = it.redlock.acquire("r");
    await it.clock.advance(100);
    const asked = it.node("a").callsOf("acquire").length;
    for (let count = 0; count < 100; count += 1) {
      const behind = it.redlock.acquire("r", { waitTimeoutMs: 10 });
      await expect(it.clock.until(behind)).rejects.toMatchObject({ code: "WAIT_TIMEOUT" });
    }
    expect(it.node("a").callsOf("acquire").length).toBe(asked);
    await it.clock.until(other.release());
    await it.clock.until((await it.clock.until(first)).release());
  });

  it("a process that its own release names loses no time", async () => {
    const it = world(3, patient);
    const other = await it.rival().acquire("r");
    const waiting = it.redlock.acquire("r");
    await it.clock.advance(20); // it stands in the lines, and watches
    for (const node of it.nodes) node.fault = () => ({ requestMs: 2, replyMs: 2 });
    const released = other.release();
    const passing = it.redlock.tryAcquire("r"); // asks at the same time, and is first
    await it.clock.until(released);
    const lock = await it.clock.until(passing);
    await it.clock.advance(100); // too long to be handed over
    const beganMs = it.clock.monotonicMs();
    await it.clock.until(lock?.release() ?? Promise.reject(new Error("it was not first")));
    await it.clock.until((await it.clock.until(waiting)).release());
    expect(it.clock.monotonicMs() - beganMs).toBeLessThan(50);
  });

  it("the turn of a process that is gone costs the others at most one back-off", async () => {
    const { redlock, clock, inner, rival } = world(3, { waitTimeoutMs: 60_000 });
    const other = await rival().acquire("r");
    for (const node of inner) {
      const claim = { resources: ["r"], owner: "gone", ttlMs: 1000, fenceHint: 1, timeoutMs: 50, waiter: "gone" };
      await node.acquire(claim);
    }
    const pending = redlock.acquire("r");
    await clock.advance(1000);
    await other.release();
    await clock.until(pending);
    expect(clock.monotonicMs()).toBeLessThanOrEqual(1000 + 400 + 26);
  });

  it("a process in which many wait lets another have the lock after a while", async () => {
    const { redlock, clock, rival } = world(3, { waitTimeoutMs: 60_000 });
    let isOver = false;
    const work = Array.from({ length: 5 }, async () => {
      while (!isOver) {
        const lock = await redlock.acquire("r");
        await new Promise<void>((resolve) => clock.deliver(10, resolve));
        await lock.release();
      }
    });
    await clock.advance(200);
    const other = await clock.until(rival({ waitTimeoutMs: 60_000 }).acquire("r"));
    expect(clock.monotonicMs()).toBeLessThanOrEqual(200 + 2 * 60);
    isOver = true;
    await clock.until(other.release());
    await clock.until(Promise.all(work));
  });

  it("watches end a second after the process has last held or wanted the resource", async () => {
    const { redlock, clock, nodes, rival } = world(3, { waitTimeoutMs: 60_000 });
    let open = 0;
    for (const node of nodes) {
      const watch = node.watch as NonNullable<typeof node.watch>;
      node.watch = async (...args) => {
        const unwatch = await watch(...args);
        open += 1;
        return async () => {
          open -= 1;
          await unwatch();
        };
      };
    }
    const use = async (locker: Redlock, lock: Promise<Lock>): Promise<void> => {
      expect(locker).toBeDefined();
      await (await lock).release();
    };
    await clock.until(use(redlock, redlock.acquire("r")));
    expect(open).toBe(0);
    const other = await rival().acquire("r");
    const pending = redlock.acquire("r");
    await clock.advance(100);
    expect(open).toBe(3);
    await other.release();
    await clock.until(use(redlock, pending));
    await clock.advance(999);
    expect(open).toBe(3);
    await clock.advance(1);
    expect(open).toBe(0);
    expect(clock.pendingTimers).toBe(0);
  });

  it("an attempt that has failed announces nothing: nobody is kept waiting by it", async () => {
    const { redlock, clock, nodes, inner, rival } = world(3);
    const other = await rival().acquire("r");
    const heard: string[] = [];
    await inner[0]?.watch(["r"], (resource) => heard.push(resource));
    await other.release();
    await clock.advance(1);
    expect(heard).toHaveLength(1);
    for (const node of nodes.slice(1)) node.fault = () => ({ reject: new Error("down") });
    await clock.until(redlock.tryAcquire("r").catch(() => {}));
    await clock.advance(1);
    expect(heard).toHaveLength(1);
  });
});
