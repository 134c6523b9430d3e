import { QuorumUnreachableError } from "@holdfast/core";
import type { AcquireRequest } from "@holdfast/core/node";
import { describe, expect, it } from "vitest";
import { claimOf, held, steal, type World, world } from "../world.ts";

const hang = { lose: "request" } as const;

/** Sets the faults of one node by method. */
function travels(it: World, name: string, faults: Readonly<Record<string, object>>): void {
  it.node(name).fault = ({ method }) => faults[method];
}

describe("release (S9)", () => {
  it("release() frees all nodes, and settles when a quorum has replied", async () => {
    const { lock, clock, node, heldOn, expectNothingLeft } = await held(3);
    node("c").fault = () => ({ replyMs: 40 });
    await clock.until(lock.release());
    expect(clock.monotonicMs()).toBe(0);
    expect(await heldOn("r")).toEqual([]);
    expect(lock.remainingMs()).toBe(0);
    expect(lock.signal.aborted).toBe(false);
    await expectNothingLeft(50);
  });

  it("release() can be repeated, and sends nothing once it was confirmed", async () => {
    const { lock, clock, node } = await held(3);
    await clock.until(Promise.all([lock.release(), lock.release()]));
    await clock.until(lock.release());
    expect(node("a").callsOf("release")).toHaveLength(1);
  });

  it("release() of an expired lock resolves immediately and releases on all nodes, even if they hang", async () => {
    const { lock, clock, nodes, node, expectNothingLeft } = await held(3);
    await clock.advance(9_950);
    for (const each of nodes) each.fault = () => hang;
    const before = clock.monotonicMs();
    await clock.until(lock.release());
    expect(clock.monotonicMs()).toBe(before);
    expect(node("a").callsOf("release")).not.toEqual([]);
    await expectNothingLeft(100);
  });

  it("release() rejects when too few nodes reply, and a second call frees the rest", async () => {
    const { lock, clock, nodes, heldOn } = await held(3);
    for (const each of nodes.slice(1)) each.fault = () => ({ reject: new Error("down") });
    const error = await clock.until(lock.release().catch((reason: unknown) => reason));
    expect(error).toBeInstanceOf(QuorumUnreachableError);
    expect((error as Error).message).toMatch(
      /^could not release r: \d of 3 nodes answered, 2 needed;.* b failed: down/,
    );
    for (const each of nodes) each.fault = () => undefined;
    await clock.until(lock.release());
    expect(await heldOn("r")).toEqual([]);
  });

  it("release() rejects again when it is repeated while too few nodes reply", async () => {
    const { lock, clock, nodes } = await held(3);
    for (const each of nodes) each.fault = () => hang;
    for (const endMs of [50, 100]) {
      await expect(clock.until(lock.release())).rejects.toThrow(
        "could not release r: 0 of 3 nodes answered, 2 needed; a timed out after 50 ms",
      );
      expect(clock.monotonicMs()).toBe(endMs);
    }
  });

  it("release() resolves when the lock expires before a quorum replies", async () => {
    const { lock, clock, nodes } = await held(3);
    await clock.advance(9_870);
    for (const each of nodes) each.fault = () => hang;
    await clock.until(lock.release());
    expect(lock.remainingMs()).toBe(0);
  });

  it("release() resolves immediately when it is repeated after a failure and the end of the lock", async () => {
    const { lock, clock, nodes } = await held(3);
    for (const each of nodes) each.fault = () => hang;
    await expect(clock.until(lock.release())).rejects.toThrow(QuorumUnreachableError);
    await clock.advance(10_000);
    await clock.until(lock.release());
    expect(clock.monotonicMs()).toBe(10_050);
  });

  it("release() undoes an extension that reaches a node later", async () => {
    const { lock, clock, node, nodes, heldOn, inner, expectNothingLeft } = await held(3);
    for (const each of nodes) each.fault = ({ method }) => (method === "extend" ? { requestMs: 30 } : undefined);
    const extension = lock.extend().catch((reason: unknown) => reason);
    await clock.advance(10);
    await clock.until(lock.release());
    expect(await heldOn("r")).toEqual([]);
    await clock.advance(20);
    // The late extension claimed the resource again, as on a node that lost its claims, and was undone.
    expect(await extension).toMatchObject({ code: "LOCK_LOST", reason: "released" });
    expect(await heldOn("r")).toEqual([]);
    expect(node("a").callsOf("release")).toHaveLength(2);
    expect((await inner[0]?.inspect("r"))?.owner).toBeNull();
    await expectNothingLeft(100);
  });

  it("Lock[Symbol.asyncDispose]() releases, and a failing release does not hide the error of the block", async () => {
    const { redlock, clock, nodes, heldOn } = world(3);
    await clock.until(
      (async () => {
        await using lock = await redlock.acquire("r");
        expect(lock.fence).toBeGreaterThan(0);
      })(),
    );
    expect(await heldOn("r")).toEqual([]);
    const failing = async () => {
      await using _lock = await redlock.acquire("r");
      for (const each of nodes) each.fault = () => hang;
      throw new Error("of the work");
    };
    await expect(clock.until(failing())).rejects.toThrow("of the work");
  });

  it("release() resolves when another owner holds all nodes, and leaves its claims alone", async () => {
    const { lock, clock, inner } = await held(3);
    await steal(inner, "r", lock.owner);
    await clock.until(lock.release());
    for (const each of inner) expect((await each.inspect("r")).owner).toBe("thief");
  });
});

describe("a grant that arrives while the lock is being released (S4)", () => {
  /** Acquires a lock from two nodes of three and releases it at once. The faults apply to the third node, c. */
  async function releasedEarly(faults: Readonly<Record<string, object>>): Promise<World> {
    const it = world(3);
    for (const name of ["a", "b"]) travels(it, name, { acquire: { replyMs: 1 }, release: { replyMs: 1 } });
    travels(it, "c", faults);
    const lock = await it.clock.until(it.redlock.acquire("r"));
    await it.clock.until(lock.release());
    return it;
  }

  /** Returns the number of release requests to c after this time, and expects that no claim or timer is left. */
  async function releasesOfC({ node, expectNothingLeft }: World, afterMs: number): Promise<number> {
    await expectNothingLeft(afterMs);
    return node("c").callsOf("release").length;
  }

  const slow = { replyMs: 20 };
  const broken = { reject: new Error("broken") };
  it.each([
    ["grant arrives before its release reply", { requestMs: 1, replyMs: 0.5 }, { requestMs: 1, replyMs: 20 }],
    ["grant arrives after the others have released", { replyMs: 10 }, slow],
    ["replies to both all arrive after their timeouts", { replyMs: 200 }, { replyMs: 220 }],
  ])("release() sends no second request to a node whose %s", async (_, acquire, release) => {
    expect(await releasesOfC(await releasedEarly({ acquire, release }), 500)).toBe(1);
  });

  it.each([
    ["that the release reaches before the acquire", { requestMs: 1.5 }, slow, 10, 20],
    ["whose grant arrives after its release reply", { replyMs: 20 }, {}, 15, 15],
    ["that granted and whose release fails", { replyMs: 1.5 }, { replyMs: 10, ...broken }, 8, 12],
    ["that granted and whose release times out", { replyMs: 1.5 }, hang, 48, 2], // it was sent 1 ms earlier
    ["that grants after the others released and then times out", { replyMs: 10 }, hang, 10, 50],
  ])("release() sends a second request to a node %s", async (_, acquire, release, onceMs, thenMs) => {
    const it = await releasedEarly({ acquire, release });
    it.node("c").fault = () => undefined;
    await it.clock.advance(onceMs);
    expect(it.node("c").callsOf("release")).toHaveLength(1);
    expect(await releasesOfC(it, thenMs)).toBe(2);
  });

  it("release() sends a second request to a node whose acquire fails, as it may still take effect", async () => {
    const it = await releasedEarly({ acquire: { requestMs: 1.5, ...broken }, release: slow });
    expect(await releasesOfC(it, 30)).toBe(2);
  });

  it("release() sends a second request to a node that grants after its release timed out, and stays silent", async () => {
    const it = world(3);
    for (const { name } of it.nodes) travels(it, name, { release: hang });
    travels(it, "c", { acquire: { replyMs: 100 }, release: hang });
    const lock = await it.clock.until(it.redlock.acquire("r"));
    await expect(it.clock.until(lock.release())).rejects.toThrow("3 nodes answered");
    await it.clock.advance(49);
    expect(it.node("c").callsOf("release")).toHaveLength(1);
    await it.clock.advance(50); // the grant has arrived 49 ms ago
    expect(it.node("c").callsOf("release")).toHaveLength(1);
    await it.clock.advance(1);
    expect(it.node("c").callsOf("release")).toHaveLength(2);
    expect(it.clock.pendingTimers).toBe(0);
  });

  it("acquire() undoes each failed attempt once on a node that was silent, and then replies to everything", async () => {
    const { clock, node, inner, redlock, heldOn } = world(3, { waitTimeoutMs: 2_000 });
    const names = Array.from({ length: 40 }, (_, index) => `r${index}`);
    const [a, b] = inner;
    for (const name of names) await Promise.all([a, b].map((each) => each?.acquire(claimOf("other", name))));
    // The connection to c is stuck: all of its replies arrive together.
    node("c").fault = () => ({ replyMs: Math.max(0, 1_000 - clock.monotonicMs()) });
    const calls = names.map((name) => redlock.tryAcquire(name));
    expect(await clock.until(Promise.all(calls))).toEqual(calls.map(() => null));
    expect(node("c").callsOf("release")).toHaveLength(40);
    await clock.advance(2_000);
    expect(node("c").callsOf("release")).toHaveLength(40);
    for (const name of ["r0", "r39"]) expect(await heldOn(name)).toEqual(["a", "b"]);
    expect(clock.pendingTimers).toBe(0);
  });

  it("release() undoes a grant that arrives after the end of the lock, although it got no permit until then", async () => {
    const { redlock, clock, nodes, node, inner, expectNothingLeft } = world(3, { ttlMs: 200 });
    const names = Array.from({ length: 900 }, (_, index) => `other ${index}`);
    const others = await clock.until(Promise.all(names.map((name) => redlock.acquire(name))));
    node("c").fault = () => ({ requestMs: 300 });
    const lock = await clock.until(redlock.acquire("r"));
    for (const each of nodes) each.fault = ({ request }) => (request.owner === lock.owner ? undefined : hang);
    await clock.until(Promise.allSettled([...others, lock].map((each) => each.release())), 250);
    const sent = () => node("c").calls.flatMap(({ method, request }) => (request.owner === lock.owner ? method : []));
    expect(sent()).toEqual(["acquire"]);
    await clock.advance(100);
    expect(sent()).toEqual(["acquire", "release"]);
    expect((await inner[2]?.inspect("r"))?.owner).toBeNull();
    await expectNothingLeft(1_000);
  });

  it("release() sends a second request to a node that grants a higher fence than proposed", async () => {
    const it = world(3);
    travels(it, "c", { acquire: { requestMs: 10 }, release: { replyMs: 30 } });
    const acquiring = it.redlock.acquire("r");
    // The first copy of the request arrives, and its reply is lost. The second copy arrives after the release.
    const [copy] = it.node("c").callsOf("acquire");
    await it.inner[2]?.acquire(copy?.request as AcquireRequest);
    await (await it.clock.until(acquiring)).release();
    expect(await it.heldOn("r")).toEqual([]);
    await it.clock.advance(5);
    expect(it.node("c").callsOf("release")).toHaveLength(1);
    expect(await releasesOfC(it, 40)).toBe(2);
  });
});
