import { AsyncLocalStorage } from "node:async_hooks";
import { LockLostError, QuorumUnreachableError, Redlock, type RedlockOptions } from "@holdfast/core";
import { memoryNode } from "@holdfast/memory";
import { FaultyNode, VirtualClock } from "@holdfast/testkit";
import {
  createLockManager,
  type GrantedLock,
  type LockManagerOptions,
  type LockManagerSnapshot,
  type LockMode,
  type LockRequestOptions,
} from "@holdfast/web-locks";
import { describe, expect, it } from "vitest";

/** Three nodes on a virtual clock, each behind a network of its own for every client, and one client. */
function world() {
  const clock = new VirtualClock();
  const inner = ["a", "b", "c"].map((name) => memoryNode({ name, clock }));
  const client = (options: LockManagerOptions = {}, redlockOptions: RedlockOptions = {}) => {
    const nodes = inner.map((node) => new FaultyNode(node, clock));
    const redlock = new Redlock(nodes, { clock, nodeTimeoutMs: 50, ttlMs: 1_000, ...redlockOptions });
    return { nodes, redlock, locks: createLockManager(redlock, options) };
  };
  return { clock, client, ...client() };
}

/** Requests the lock "r", and holds it until the test ends it. The outcome is the result, or the error. */
function hold(locks: ReturnType<typeof createLockManager>, options: LockRequestOptions = {}, onGranted = () => {}) {
  const granted: (GrantedLock | null)[] = [];
  let end: (value?: unknown) => void = () => {};
  const ended = new Promise((resolve) => {
    end = resolve;
  });
  const request = locks.request("r", options, (lock) => {
    granted.push(lock);
    onGranted();
    return ended;
  });
  return { granted, end, outcome: request.catch((error: Error) => error) };
}

/** Ends held locks, and waits for the outcomes of their requests. */
function finish(clock: VirtualClock, ...holders: readonly ReturnType<typeof hold>[]): Promise<unknown> {
  for (const { end } of holders) end();
  return clock.until(Promise.all(holders.map(({ outcome }) => outcome)));
}

/** Returns the modes that a query lists. */
async function modes(query: Promise<LockManagerSnapshot>): Promise<Record<"held" | "pending", LockMode[]>> {
  const { held, pending } = await query;
  return { held: held.map(({ mode }) => mode), pending: pending.map(({ mode }) => mode) };
}

const aborted = { name: "AbortError" };

const down = () => ({ reject: new Error("down") });

/** Lets every message to and from these nodes take a few milliseconds. */
function slowDown(nodes: readonly FaultyNode[]): void {
  for (const node of nodes) node.fault = () => ({ requestMs: 5, replyMs: 5 });
}

describe("createLockManager()", () => {
  it("createLockManager() returns a value that fits the type of navigator.locks", async () => {
    const locks: LockManager = createLockManager(new Redlock([memoryNode()]));
    const result: number = await locks.request("r", { mode: "shared" }, async (lock) => (lock?.name === "r" ? 1 : 0));
    expect(result).toBe(1);
  });

  it("createLockManager() refuses bad arguments, and names them", () => {
    const redlock = new Redlock([memoryNode()]);
    expect(() => createLockManager({} as Redlock)).toThrow("redlock must be an object with the method acquire");
    expect(() => createLockManager(redlock, { clientID: "x" } as never)).toThrow("clientID is not an option");
    expect(() => createLockManager(redlock, { clientId: "" })).toThrow(RangeError);
    expect(() => createLockManager(redlock, { clientId: "a\nb" })).toThrow(RangeError);
    expect(() => createLockManager(redlock, { prefix: 1 as never })).toThrow("prefix must be a string");
  });

  it("createLockManager() separates the names of different prefixes, and shares those of one", async () => {
    const { client, clock } = world();
    const { redlock, locks } = client({ prefix: "" });
    const other = client({ prefix: "other:" });
    const isFree = (lock: GrantedLock | null) => lock !== null;
    const lock = await redlock.acquire("r");
    expect(await clock.until(locks.request("r", { ifAvailable: true }, isFree))).toBe(false);
    expect(await clock.until(other.locks.request("r", { ifAvailable: true }, isFree))).toBe(true);
    await clock.until(lock.release());
  });
});

describe("request()", () => {
  it("request() lets readers of two managers in together, and writers alone, whose fences grow", async () => {
    const { client, clock } = world();
    const inside: string[] = [];
    const wrong: string[] = [];
    const fences = { exclusive: 0, shared: 0 };
    let readersTogether = 0;
    const enter = async ({ mode, fence }: GrantedLock): Promise<void> => {
      if (inside.length > 0 && (mode === "exclusive" || inside.includes("exclusive")))
        wrong.push(`${mode} in ${inside}`);
      const before = mode === "exclusive" ? Math.max(fences.exclusive, fences.shared) : fences.exclusive;
      if (fence <= before) wrong.push(`${mode} with ${fence} after ${before}`);
      fences[mode] = Math.max(fence, fences[mode]);
      inside.push(mode);
      readersTogether = Math.max(readersTogether, inside.length);
      await new Promise<void>((resolve) => clock.deliver(3, resolve));
      inside.splice(inside.indexOf(mode), 1);
    };
    const requests = [client(), client()].flatMap(({ locks }) =>
      Array.from({ length: 30 }, (_, index) =>
        locks.request("r", { mode: index % 5 < 3 ? "shared" : "exclusive" }, enter),
      ),
    );
    await clock.until(Promise.all(requests));
    expect(wrong).toEqual([]);
    expect(readersTogether).toBeGreaterThan(1);
  });

  it("request() rejects for all who share a lock with an AbortError when it is lost, and aborts their signals with it", async () => {
    const { clock, locks, nodes } = world();
    const readers = [hold(locks, { mode: "shared" }), hold(locks, { mode: "shared" })];
    await clock.advance(1);
    for (const node of nodes) node.fault = down;
    for (const { granted, outcome } of readers) {
      const error = await clock.until(outcome);
      expect(error).toMatchObject({ name: "AbortError", message: "the lock was lost" });
      expect((error as Error).cause).toBeInstanceOf(LockLostError);
      expect(granted[0]?.signal).toMatchObject({ aborted: true, reason: error });
    }
    for (const node of nodes) node.fault = () => undefined;
    await finish(clock, ...readers);
    expect(await clock.until(locks.request("r", ({ mode }) => mode))).toBe("exclusive");
  });

  it("request() waits while too few nodes reply, and ifAvailable and steal reject", async () => {
    const { clock, locks, nodes } = world();
    for (const node of nodes) node.fault = down;
    const waiting = locks.request("r", () => "granted");
    await clock.advance(60_000);
    for (const options of [{ ifAvailable: true }, { steal: true }]) {
      const refused = locks.request(`other ${Object.keys(options)}`, options, () => {});
      await expect(clock.until(refused)).rejects.toBeInstanceOf(QuorumUnreachableError);
    }
    for (const node of nodes) node.fault = () => undefined;
    expect(await clock.until(waiting)).toBe("granted");
  });

  it("request() rejects when the Redlock is closed, unless the lock is held", async () => {
    const { clock, locks, redlock } = world();
    const { end, outcome } = hold(locks);
    const waiting = locks.request("r", () => {});
    await clock.advance(1);
    const closing = redlock.close();
    await expect(clock.until(waiting)).rejects.toMatchObject({ code: "CLOSED" });
    end("done");
    expect(await clock.until(outcome)).toBe("done");
    await clock.until(closing);
    await expect(locks.request("r", () => {})).rejects.toMatchObject({ code: "CLOSED" });
  });

  it("request() with ifAvailable waits for the release of this manager's last lock, and later requests for it", async () => {
    const { clock, locks, nodes } = world();
    const first = hold(locks);
    await clock.advance(1);
    for (const node of nodes) node.fault = ({ method }) => (method === "release" ? { requestMs: 20 } : undefined);
    first.end();
    await clock.advance(1); // the release is on its way
    const [second, third] = [hold(locks, { ifAvailable: true }), hold(locks)];
    await clock.advance(200);
    expect([second.granted[0]?.name, third.granted.length]).toEqual(["r", 0]);
    second.end();
    third.end();
    await clock.until(Promise.all([first, second, third].map(({ outcome }) => outcome)));
  });

  it("request() grants shared locks in a row together, by one request to each node and one release", async () => {
    const { clock, locks, nodes } = world();
    slowDown(nodes);
    const writer = hold(locks);
    const readers = Array.from({ length: 50 }, () => hold(locks, { mode: "shared" }));
    await clock.advance(10);
    writer.end();
    await clock.advance(10);
    expect(readers.flatMap(({ granted }) => granted)).toHaveLength(50);
    await finish(clock, writer, ...readers);
    await clock.advance(1_000);
    const sent = nodes.map((node) => [node.callsOf("acquire").length, node.callsOf("release").length]);
    expect(sent).toEqual(Array(3).fill([2, 1])); // the request of the readers takes over the lock of the writer
  });

  it("request() keeps a lock that readers share until the last of them ends, and settles for each one at once", async () => {
    const { client, clock } = world();
    const [one, two] = [client(), client()];
    const readers = ["a", "b", "c"].map(() => hold(one.locks, { mode: "shared" }));
    await clock.advance(1);
    const isFree = () => clock.until(two.locks.request("r", { ifAvailable: true }, (lock) => lock !== null));
    for (const { end, outcome } of readers) {
      expect(await isFree()).toBe(false);
      end("done");
      expect(await clock.until(outcome)).toBe("done");
    }
    expect(await isFree()).toBe(true);
  });

  it("request() calls each callback in the asynchronous context of its request", async () => {
    const { clock, locks } = world();
    const context = new AsyncLocalStorage<number>();
    const kinds = [{}, ...Array(2).fill({ mode: "shared" }), { ifAvailable: true }, { steal: true }, {}, {}];
    const seen = kinds.map((options, index) =>
      context.run(index, () => locks.request("r", options, () => context.getStore()).catch(({ name }) => name)),
    );
    expect(await clock.until(Promise.all(seen))).toEqual(["AbortError", 1, 2, 3, 4, 5, 6]);
  });

  it("request() of readers who follow each other in one manager does not keep out the writer of another", async () => {
    const { client, clock } = world();
    const [one, two] = [client(), client()];
    slowDown(one.nodes);
    const read = () =>
      one.locks.request("r", { mode: "shared" }, () => new Promise((end) => clock.deliver(50, () => end(1))));
    const readers = [read()];
    await clock.advance(20);
    const writer = hold(two.locks);
    for (let ms = 0; ms < 2_000 && writer.granted.length === 0; ms += 7) {
      readers.push(read(), read());
      await clock.advance(7);
    }
    expect(writer.granted).toHaveLength(1);
    writer.end();
    await clock.until(Promise.all([writer.outcome, ...readers]));
  });

  it("request() of a reader does not wait for later readers with ifAvailable, however many ask the nodes", async () => {
    const { clock, locks, nodes } = world();
    const shared = { mode: "shared" } as const;
    for (const node of nodes) node.fault = () => ({ requestMs: 5 });
    const read = (): Promise<unknown> => locks.request("r", { ...shared, ifAvailable: true }, () => {});
    const readers: Promise<unknown>[] = [];
    const readFor = async (ms: number) => {
      for (const endMs = clock.monotonicMs() + ms; clock.monotonicMs() < endMs; await clock.advance(2)) {
        readers.push(read());
      }
    };
    await readFor(20);
    const { granted, end, outcome } = hold(locks, shared);
    await readFor(200);
    expect(granted).toHaveLength(1);
    end();
    await clock.until(Promise.all([outcome, ...readers]));
  });
});

describe("steal", () => {
  it("steal takes the lock from an earlier ifAvailable of this manager that is under way, which learns at once", async () => {
    const { clock, locks, nodes } = world();
    for (const node of nodes) node.fault = ({ method }) => (method === "acquire" ? { replyMs: 40 } : undefined);
    const holder = hold(locks, { ifAvailable: true });
    await clock.advance(1); // the nodes have granted it
    for (const node of nodes) node.fault = () => undefined;
    const thief = hold(locks, { steal: true });
    await clock.advance(100); // less than an extension takes
    expect([holder.granted, thief.granted].map(([lock]) => lock?.name)).toEqual(["r", "r"]);
    expect(holder.granted[0]?.signal.aborted).toBe(true);
    expect(thief.granted[0]?.fence).toBeGreaterThan(holder.granted[0]?.fence as number);
    thief.end("done");
    expect(await clock.until(Promise.all([holder.outcome, thief.outcome]))).toMatchObject([aborted, "done"]);
  });

  it("steal in the turn of a request takes the lock from it, however long the nodes take", async () => {
    for (const requestMs of [0, 5, 40]) {
      const { clock, locks, nodes } = world();
      let calls = 0;
      for (const node of nodes) node.fault = () => ({ requestMs: (1 + (calls++ % 3)) * (requestMs / 3) });
      const log: string[] = [];
      const first = hold(locks, {}, () => log.push("first"));
      const thief = hold(locks, { steal: true }, () => log.push("thief"));
      await clock.advance(1_000);
      expect(log).toEqual(["first", "thief"]);
      expect(await first.outcome).toMatchObject(aborted);
      expect(thief.granted[0]?.fence).toBeGreaterThan(first.granted[0]?.fence as number);
      const next = hold(locks);
      await clock.advance(2_000);
      expect(next.granted).toEqual([]);
      for (const { end } of [thief, next]) end("done");
      expect(await clock.until(Promise.all([thief.outcome, next.outcome]))).toEqual(["done", "done"]);
    }
  });

  it("steal in the turn of a request does not overtake it after a stall of this process", async () => {
    const { client, clock } = world();
    const { locks, nodes } = client({}, { nodeTimeoutMs: 2_000, ttlMs: 10_000 });
    for (const node of nodes) node.fault = ({ method }) => (method === "acquire" ? { replyMs: 400 } : undefined);
    const log: string[] = [];
    const first = hold(locks, {}, () => log.push("first"));
    const thief = hold(locks, { steal: true }, () => log.push("thief"));
    await clock.advance(1);
    await clock.stall(1_000);
    await clock.advance(1_000);
    expect(log).toEqual(["first", "thief"]);
    thief.end();
    await clock.until(Promise.all([first.outcome, thief.outcome]));
  });

  it("steal passes a request that waits for another manager at once, even in the turn of that request", async () => {
    const { client, clock } = world();
    const [one, two] = [client(), client()];
    const holder = hold(one.locks);
    await clock.advance(1);
    const [waiter, thief] = [hold(two.locks), hold(two.locks, { steal: true })];
    await clock.advance(0);
    expect([waiter.granted.length, thief.granted.length]).toEqual([0, 1]);
    thief.end();
    waiter.end("done");
    expect(await clock.until(waiter.outcome)).toBe("done");
    expect(await clock.until(holder.outcome)).toMatchObject(aborted);
  });

  it("steal does not wait for a request that the nodes neither grant nor refuse", async () => {
    const { clock, locks, nodes } = world();
    for (const node of nodes) node.fault = ({ method }) => (method === "acquire" ? { reject: new Error("busy") } : {});
    const waiter = hold(locks);
    await clock.advance(100);
    const thief = hold(locks, { steal: true });
    await expect(clock.until(thief.outcome, 1_000)).resolves.toBeInstanceOf(QuorumUnreachableError);
    for (const node of nodes) node.fault = () => undefined;
    waiter.end("done");
    expect(await clock.until(waiter.outcome)).toBe("done");
  });

  it("steal takes the lock from another manager, whose request rejects within half of the ttl", async () => {
    const { client, clock } = world();
    const [one, two, three] = [client(), client(), client()];
    const holder = hold(one.locks);
    await clock.advance(1);
    const waiter = hold(three.locks);
    await clock.advance(1);
    const thief = hold(two.locks, { steal: true });
    await clock.advance(1);
    expect(thief.granted[0]?.fence).toBeGreaterThan(holder.granted[0]?.fence as number);
    await clock.advance(500);
    const error = await clock.until(holder.outcome);
    expect(error).toMatchObject({ name: "AbortError", cause: { code: "LOCK_LOST", reason: "not-held" } });
    expect(holder.granted[0]?.signal.reason).toBe(error);
    holder.end();
    await clock.advance(2_000);
    expect(waiter.granted).toEqual([]); // the nodes name nobody for a stolen lock
    thief.end("done");
    expect(await clock.until(thief.outcome)).toBe("done");
    await finish(clock, waiter);
  });

  it("steal takes the lock from all who share it in other managers, and from other clients of the nodes", async () => {
    const { client, clock } = world();
    const readers = [client(), client(), client(), client()].map(
      ({ locks }) => hold(locks, { mode: "shared" }).outcome,
    );
    await clock.advance(1);
    const { redlock, locks } = client();
    const lock = await clock.until(redlock.acquire("web:r", { mode: "shared", autoExtend: true }));
    const thief = hold(locks, { steal: true });
    await clock.advance(0);
    expect(thief.granted).toHaveLength(1);
    await clock.advance(600);
    expect(await clock.until(Promise.all(readers))).toMatchObject(readers.map(() => aborted));
    expect(lock.signal.aborted).toBe(true);
    await finish(clock, thief);
  });

  it("steal that fails has ended the lock of the holder all the same", async () => {
    const { clock, locks, nodes } = world();
    const { outcome } = hold(locks);
    await clock.advance(1);
    for (const node of nodes) node.fault = ({ method }) => (method === "extend" ? undefined : down());
    const stolen = locks.request("r", { steal: true }, () => {});
    await expect(clock.until(stolen)).rejects.toBeInstanceOf(QuorumUnreachableError);
    for (const node of nodes) node.fault = () => undefined;
    expect(await outcome).toMatchObject(aborted);
    expect(await clock.until(locks.request("r", () => "granted"))).toBe("granted");
  });

  it("steal does not wait for a node that hangs", async () => {
    const { client, clock } = world();
    const [one, two] = [client(), client()];
    const { outcome } = hold(one.locks);
    await clock.advance(1);
    const hanging = two.nodes[2] as FaultyNode;
    hanging.fault = () => ({ lose: "request" });
    const startedMs = clock.monotonicMs();
    await clock.until(two.locks.request("r", { steal: true }, () => {}));
    expect(clock.monotonicMs() - startedMs).toBeLessThan(200); // virtual time
    expect(await clock.until(outcome)).toMatchObject(aborted);
  });

  it("steal follows an earlier one of this manager, however late the nodes reply", async () => {
    const { clock, locks, nodes } = world();
    let calls = 0;
    for (const node of nodes) node.fault = () => ({ requestMs: 40 - 7 * Math.min(5, calls++) });
    const log: number[] = [];
    const thieves = [1, 2, 3].map((label) => hold(locks, { steal: true }, () => void log.push(label)));
    await clock.advance(5_000);
    expect(log).toEqual([1, 2, 3]);
    for (const { end } of thieves) end("done");
    const outcomes = await clock.until(Promise.all(thieves.map(({ outcome }) => outcome)));
    expect(outcomes).toMatchObject([aborted, aborted, "done"]);
  });

  it("steal by two managers at once gives the lock to both in turn, and leaves it to one", async () => {
    const { client, clock } = world();
    const thieves = [client(), client()].map(({ locks }) => hold(locks, { steal: true }));
    await clock.advance(2_000);
    for (const { end } of thieves) end("done");
    const outcomes = await clock.until(Promise.all(thieves.map(({ outcome }) => outcome)));
    expect(outcomes.filter((outcome) => outcome === "done")).toHaveLength(1);
    expect(thieves.map(({ granted }) => granted.length)).toEqual([1, 1]);
  });
});

describe("query()", () => {
  it("query() lists a request that waits, and the holder of another manager, as soon as the nodes name it", async () => {
    const { client, clock } = world();
    const [one, two] = [client({ clientId: "one" }), client({ clientId: "two" })];
    const holder = hold(one.locks);
    await clock.advance(1);
    const waiters = [hold(two.locks), hold(one.locks)]; // the second one is not known to the other manager
    const elsewhere = one.locks.request("elsewhere", () => waiters[0]?.outcome);
    const state = two.locks.query();
    await clock.advance(0);
    expect(await state).toEqual({
      held: [{ name: "r", mode: "exclusive", clientId: "one" }],
      pending: [{ name: "r", mode: "exclusive", clientId: "two" }],
    });
    await finish(clock, holder, ...waiters);
    await clock.until(elsewhere);
  });

  it("query() lists a reader as held in the turn of its request while another manager reads", async () => {
    const { client, clock } = world();
    const [one, two] = [client({ clientId: "one" }), client({ clientId: "two" })];
    const reader = hold(one.locks, { mode: "shared" });
    await clock.advance(1);
    for (const node of two.nodes) node.fault = ({ method }) => (method === "acquire" ? { replyMs: 5 } : undefined);
    const own = hold(two.locks, { mode: "shared" });
    const held = ["two", "one"].map((clientId) => ({ name: "r", mode: "shared", clientId }));
    expect(await clock.until(two.locks.query())).toEqual({ held, pending: [] });
    await finish(clock, reader, own);
    await clock.until(Promise.all([one, two].map(({ redlock }) => redlock.close())));
    expect(clock.pendingTimers).toBe(0);
  });

  it("query() and steal do not wait for requests behind a lock of this manager", async () => {
    const { clock, locks } = world();
    const [holder, waiter] = [hold(locks), hold(locks)];
    await clock.advance(1);
    const state = modes(locks.query());
    const thief = hold(locks, { steal: true });
    await clock.advance(0);
    expect(await state).toEqual({ held: ["exclusive"], pending: ["exclusive"] });
    expect(thief.granted).toHaveLength(1);
    await finish(clock, holder, waiter, thief);
  });

  it("query() does not wait longer for a request that is refused, fails or gives up", async () => {
    const { client, clock } = world();
    const [one, two] = [client(), client()];
    const holder = hold(one.locks);
    await clock.advance(1);
    slowDown(two.nodes);
    const refused = hold(two.locks, { ifAvailable: true });
    expect(await clock.until(modes(two.locks.query()), 50)).toEqual({ held: ["exclusive"], pending: [] });
    await finish(clock, holder, refused);

    for (const node of two.nodes) node.fault = down;
    const failing = hold(two.locks, { steal: true });
    expect(await clock.until(modes(two.locks.query()), 200)).toEqual({ held: [], pending: [] });
    expect(await failing.outcome).toBeInstanceOf(QuorumUnreachableError);

    const controller = new AbortController();
    for (const node of two.nodes) node.fault = ({ method }) => (method === "acquire" ? { lose: "request" } : undefined);
    const waiting = hold(two.locks, { signal: controller.signal });
    const state = modes(two.locks.query());
    await clock.advance(1);
    controller.abort();
    expect(await clock.until(state, 50)).toEqual({ held: [], pending: [] });
    expect(await waiting.outcome).toMatchObject(aborted);
  });

  it("query() lists a request as pending, and leaves no timer, if too few nodes reply", async () => {
    const { clock, locks, nodes, redlock } = world();
    for (const node of nodes) node.fault = down;
    const { outcome } = hold(locks);
    expect(await clock.until(modes(locks.query()), 1_000)).toEqual({ held: [], pending: ["exclusive"] });
    const state = locks.query().catch((error: Error) => error);
    await clock.until(redlock.close());
    expect(await clock.until(state)).toMatchObject({ code: "CLOSED" });
    expect(await outcome).toMatchObject({ code: "CLOSED" });
    expect(clock.pendingTimers).toBe(0);
  });

  it("query() lists a holder without a manager under its label or its owner value", async () => {
    const { client, clock, redlock } = world();
    const { locks } = client({ clientId: "mine" });
    for (const label of ["worker-7", undefined]) {
      const lock = await clock.until(redlock.acquire("web:r", { label }));
      const waiting = locks.request("r", () => {});
      await clock.advance(1);
      const { held } = await clock.until(locks.query());
      expect(held).toEqual([{ name: "r", mode: "exclusive", clientId: label ?? lock.owner }]);
      await clock.until(lock.release());
      await clock.until(waiting);
    }
  });

  it("query() asks the nodes nothing once no name is used any more", async () => {
    const { clock, locks, nodes } = world();
    const stolen = locks.request("r", () => new Promise(() => {})).catch(({ name }) => name);
    await clock.advance(1);
    await clock.until(locks.request("r", { steal: true }, () => {}));
    await clock.until(locks.request("s", { ifAvailable: true }, () => {}));
    await expect(locks.request("t", { signal: AbortSignal.abort() }, () => {})).rejects.toThrow();
    expect(await stolen).toBe("AbortError");
    await clock.advance(2_000);
    const asked = () => nodes.flatMap((node) => node.callsOf("inspect")).length;
    const before = asked();
    expect(await locks.query()).toEqual({ held: [], pending: [] });
    expect(asked()).toBe(before);
  });
});
