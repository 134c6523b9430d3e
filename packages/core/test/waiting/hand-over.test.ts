import type { Lock } from "@holdfast/core";
import { describe, expect, it } from "vitest";
import { held, type World, world } from "../world.ts";

/** How long a message travels. */
const travelMs = 5;

const travel = { requestMs: travelMs, replyMs: travelMs };

/** Returns a lock on `r`, and a call of the same process that waits for it. */
async function heldAndWanted({ redlock, clock }: World): Promise<{ lock: Lock; next: Promise<Lock> }> {
  const lock = await clock.until(redlock.acquire("r"));
  const next = redlock.acquire("r");
  await clock.advance(1);
  return { lock, next };
}

/** Calls lock the resource together, and keep it for this long. Returns `h` for each hand-over, `r` for each release. */
async function endsOfLocks(it: World, calls: number, holdMs?: number): Promise<string> {
  const work = Array.from({ length: calls }, async () => {
    const lock = await it.redlock.acquire("r");
    if (holdMs !== undefined) await new Promise<void>((resolve) => it.clock.deliver(holdMs, resolve));
    await lock.release();
  });
  await it.clock.until(Promise.all(work));
  const released = it.events.filter(([name]) => name === "released");
  return released.map(([, { handedOver }]) => (handedOver ? "h" : "r")).join("");
}

describe("hand-over within a process", () => {
  it("release() hands the lock to the next waiter in one round trip, with a new owner and a new fence", async () => {
    const it = world(5);
    for (const node of it.nodes) node.fault = () => travel;
    const { lock, next } = await heldAndWanted(it);
    const beganMs = it.clock.monotonicMs();
    const released = lock.release();
    const heir = await it.clock.until(next);
    expect(it.clock.monotonicMs() - beganMs).toBe(2 * travelMs);
    await it.clock.until(released);
    expect(it.clock.monotonicMs() - beganMs).toBe(2 * travelMs);
    expect(heir.owner).not.toBe(lock.owner);
    expect(heir.fence).toBeGreaterThan(lock.fence);
    expect(lock.remainingMs()).toBe(0);
    expect(lock.signal.aborted).toBe(false);
    for (const node of it.nodes) {
      expect(node.callsOf("acquire").map(({ request }) => request.takeover)).toEqual([undefined, lock.owner]);
      expect(node.callsOf("release")).toEqual([]);
    }
    const told = it.events.filter(([name]) => name === "released").map(([, event]) => event);
    expect(told).toMatchObject([{ owner: lock.owner, fence: lock.fence, confirmed: true, handedOver: true }]);
    await it.clock.until(heir.release());
    await it.expectNothingLeft(10_000);
  });

  it("acquire() serves waiters in order, with hardly more than one call per node and lock", async () => {
    const it = world(5, { waitTimeoutMs: 60_000 });
    const order: number[] = [];
    const count = 100;
    const work = Array.from({ length: count }, async (_, index) => {
      const lock = await it.redlock.acquire("r");
      order.push(index);
      await it.clock.advance(0);
      await lock.release();
    });
    await it.clock.until(Promise.all(work));
    expect(order).toEqual(Array.from({ length: count }, (_, index) => index));
    for (const node of it.nodes) expect(node.calls.length).toBeLessThanOrEqual(1.3 * count);
    expect(await it.heldOn("r")).toEqual([]);
  });

  it("release() releases the old owner on nodes that refused the takeover, even if they reply late", async () => {
    const it = world(5);
    const { lock, next } = await heldAndWanted(it);
    it.node("d").fault = ({ method }) => (method === "acquire" ? { reject: new Error("broken") } : undefined);
    it.node("e").fault = ({ method }) =>
      method === "acquire" ? { requestMs: 300, answer: { granted: false } } : undefined;
    await it.clock.until(lock.release());
    const heir = await it.clock.until(next);
    await it.clock.advance(400);
    expect(it.nodes.map(({ name }) => it.requests(name, "release").map(({ owner }) => owner))).toEqual([
      [],
      [],
      [],
      [lock.owner],
      [lock.owner],
    ]);
    expect(await it.heldOn("r")).toEqual(["a", "b", "c"]);
    await it.clock.until(heir.release());
    expect(await it.heldOn("r")).toEqual([]);
  });

  it("release() releases old owners on nodes that never replied to the takeover, once the last lock ends", async () => {
    const it = world(5);
    const { lock, next } = await heldAndWanted(it);
    const last = it.redlock.acquire("r");
    await it.clock.advance(1);
    for (const name of ["d", "e"]) {
      it.node(name).fault = ({ request }) => ("takeover" in request ? { lose: "request" } : undefined);
    }
    await it.clock.until(lock.release());
    const heir = await it.clock.until(next);
    await it.clock.until(heir.release());
    const end = await it.clock.until(last);
    await it.clock.advance(1);
    expect(await it.heldOn("r")).toEqual(["a", "b", "c"]);
    await it.clock.until(end.release());
    await it.clock.advance(1);
    expect(await it.heldOn("r")).toEqual([]);
  });

  it("release() releases both owners on all nodes when a hand-over fails, and the waiter keeps waiting (S4)", async () => {
    const it = world(5);
    const { lock, next } = await heldAndWanted(it);
    for (const name of ["c", "d", "e"]) {
      it.node(name).fault = ({ request }) => (request.takeover === undefined ? undefined : { lose: "reply" });
    }
    await it.clock.until(lock.release());
    const heir = await it.clock.until(next);
    const failed = it.node("a").callsOf("acquire")[1]?.request.owner;
    for (const node of it.nodes) {
      const owners = it.requests(node.name, "release").map(({ owner }) => owner);
      expect(owners).toEqual(expect.arrayContaining([lock.owner, failed]));
    }
    expect(it.events.find(([name]) => name === "released")?.[1]).toMatchObject({ confirmed: true, handedOver: false });
    expect(heir.fence).toBeGreaterThan(lock.fence);
    await it.clock.until(heir.release());
    await it.expectNothingLeft(10_000);
  });

  it("release() undoes an extension that reaches a node after the hand-over", async () => {
    const it = world(3);
    const { lock, next } = await heldAndWanted(it);
    it.node("c").fault = ({ method }) => (method === "extend" ? { requestMs: 100 } : undefined);
    it.node("a").fault = ({ method }) => (method === "extend" ? { requestMs: 100 } : undefined);
    const extension = lock.extend().catch((reason: unknown) => reason);
    await it.clock.advance(1);
    await it.clock.until(lock.release());
    const heir = await it.clock.until(next);
    await it.clock.until(heir.release());
    await it.clock.advance(200);
    // On nodes where the resource was free by then, the late extension claimed it again for the old owner.
    expect(await extension).toMatchObject({ code: "LOCK_LOST", reason: "released" });
    expect(await it.heldOn("r")).toEqual([]);
  });

  it.each([
    ["16 consecutive hand-overs", 40, undefined, `${"h".repeat(16)}r${"h".repeat(16)}r${"h".repeat(5)}r`],
    ["50 ms of hand-overs", 9, 20, "hhrhhrhhr"],
  ])("release() really releases the lock after %s", async (_, calls, holdMs, ends) => {
    expect(await endsOfLocks(world(3, { waitTimeoutMs: 60_000 }), calls, holdMs)).toBe(ends);
  });

  it("release() counts hand-overs from zero after one that failed", async () => {
    const it = world(3, { waitTimeoutMs: 60_000 });
    let takeovers = 0;
    const fail = ({ request }: { request: { takeover?: string } }) => {
      if (request.takeover === undefined) return undefined;
      takeovers += 1;
      return takeovers > 10 * 3 && takeovers <= 11 * 3 ? { reject: new Error("no") } : undefined;
    };
    for (const node of it.nodes) node.fault = fail;
    expect(await endsOfLocks(it, 30)).toBe(`${"h".repeat(10)}r${"h".repeat(16)}rhr`);
  });

  it("release() does not hand the lock to a waiter that has given up", async () => {
    const { lock, ...it } = await held(3);
    const controller = new AbortController();
    const first = it.redlock.acquire("r", { signal: controller.signal }).catch((reason: unknown) => reason);
    const second = it.redlock.acquire("r");
    await it.clock.advance(1);
    const released = lock.release();
    controller.abort(new Error("enough"));
    await it.clock.until(released);
    expect(await first).toMatchObject({ message: "enough" });
    const heir = await it.clock.until(second);
    await it.clock.until(heir.release());
    expect(await it.heldOn("r")).toEqual([]);
  });

  it("release() leaves no claim of either owner when the waiter gives up during the hand-over", async () => {
    const it = world(3);
    for (const node of it.nodes) node.fault = () => travel;
    const lock = await it.clock.until(it.redlock.acquire("r"));
    const controller = new AbortController();
    const first = it.redlock.acquire("r", { signal: controller.signal }).catch((reason: unknown) => reason);
    await it.clock.advance(1);
    const released = lock.release();
    await it.clock.advance(travelMs);
    controller.abort(new Error("enough"));
    expect(await it.clock.until(first)).toMatchObject({ message: "enough" });
    await it.clock.until(released);
    await it.expectNothingLeft(1000);
  });

  it("release() notifies other processes when the waiter gives up during the hand-over", async () => {
    const it = world(3, { nodeTimeoutMs: 500 });
    for (const node of it.nodes) node.fault = () => travel;
    const lock = await it.clock.until(it.redlock.acquire("r"));
    const other = it
      .otherClient({ retryDelayMs: 60_000, retryDelayMaxMs: 60_000, waitTimeoutMs: 120_000 })
      .acquire("r");
    await it.clock.advance(20); // it is in the waiting lists and watches
    const controller = new AbortController();
    const heir = it.redlock.acquire("r", { signal: controller.signal });
    await it.clock.advance(1);
    const beganMs = it.clock.monotonicMs();
    const released = lock.release();
    await it.clock.advance(travelMs + 1); // the nodes have granted the takeover
    controller.abort();
    await expect(it.clock.until(heir)).rejects.toBe(controller.signal.reason);
    await it.clock.until(released);
    await it.clock.until((await it.clock.until(other)).release());
    expect(it.clock.monotonicMs() - beganMs).toBeLessThan(10 * travelMs);
  });

  it("release() hands a lock only to a waiter for exactly its resources, without passing earlier waiters", async () => {
    const it = world(3, { waitTimeoutMs: 60_000 });
    const order: string[] = [];
    const use = async (name: string, resources: string | string[]): Promise<void> => {
      const lock = await it.redlock.acquire(resources);
      order.push(name);
      await lock.release();
    };
    const lock = await it.clock.until(it.redlock.acquire(["a", "b"]));
    const waiting = [use("b", "b"), use("both", ["b", "a"]), use("a", "a")];
    await it.clock.advance(1);
    await it.clock.until(lock.release());
    await it.clock.until(Promise.all(waiting));
    expect(order.indexOf("b")).toBeLessThan(order.indexOf("both"));
    const takeovers = it.requests("a", "acquire").map(({ takeover }) => takeover);
    expect(takeovers).not.toContain(lock.owner);
  });

  it("acquire() makes a new attempt, not a takeover, after a lock of its process was lost", async () => {
    const it = world(3, { waitTimeoutMs: 60_000 });
    const { lock, next } = await heldAndWanted(it);
    await it.clock.advance(10_000);
    expect(lock.signal.aborted).toBe(true);
    const heir = await it.clock.until(next);
    expect(it.requests("a", "acquire").map(({ takeover }) => takeover)).toEqual([undefined, undefined]);
    await it.clock.until(heir.release());
  });

  it("release() hands over a lock of tryAcquire() as well", async () => {
    const it = world(3);
    const lock = await it.clock.until(it.redlock.tryAcquire("r"));
    const next = it.redlock.acquire("r");
    await it.clock.advance(1);
    await it.clock.until(lock?.release() ?? Promise.reject(new Error("no lock")));
    await it.clock.until(next);
    expect(it.node("a").callsOf("acquire").at(-1)?.request.takeover).toBe(lock?.owner);
  });
});
