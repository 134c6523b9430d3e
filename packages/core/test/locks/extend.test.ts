import { LockLostError } from "@holdfast/core";
import { describe, expect, it } from "vitest";
import { claimOf, held, steal, world } from "../world.ts";

const hang = { lose: "request" } as const;

/** Makes a node forget the holder of `r`, as a restart without persistence does. */
async function forget(node: { inspect(r: string): Promise<{ owner: string | null }>; release(r: never): unknown }) {
  const { owner } = await node.inspect("r");
  await node.release({ resources: ["r"], owner: owner ?? "", timeoutMs: 0 } as never);
}

describe("extension (S8)", () => {
  it("extend() restores the full ttl, measured from before the request was sent", async () => {
    const { lock, clock, nodes } = await held(5);
    await clock.advance(4000);
    for (const node of nodes) node.fault = () => ({ requestMs: 5, replyMs: 15 });
    await clock.until(lock.extend());
    expect(lock.remainingMs()).toBeCloseTo(9898 - 20, 3);
  });

  it("extend() succeeds once a quorum holds the lock, without waiting for more", async () => {
    const { lock, clock, nodes } = await held(5);
    for (const node of nodes.slice(0, 2)) node.fault = () => hang;
    await clock.advance(1000);
    await clock.until(lock.extend());
    expect(clock.monotonicMs()).toBe(1000);
    expect(lock.remainingMs()).toBeCloseTo(9898, 3);
  });

  it("extend() loses the lock immediately when no quorum holds it, and releases it on all nodes", async () => {
    const { lock, clock, nodes, inner, heldOn, events } = await held(5);
    await steal(inner.slice(0, 3), "r", lock.owner);
    for (const node of nodes.slice(3)) node.fault = ({ method }) => (method === "extend" ? { replyMs: 20 } : undefined);
    const { signal } = lock;
    const error = await clock.until(lock.extend().catch((reason: unknown) => reason));
    expect(error).toBeInstanceOf(LockLostError);
    expect(error).toMatchObject({ code: "LOCK_LOST", reason: "not-held" });
    expect((error as Error).message).toMatch(
      /^could not keep r: too few nodes hold it; 0 of 5 nodes hold it, 3 needed/,
    );
    expect(clock.monotonicMs()).toBe(0);
    expect(signal.reason).toBe(error);
    expect(events.map(([name]) => name)).toContain("lost");
    await clock.advance(50);
    expect(await heldOn("r")).toEqual(["a", "b", "c"]);
    expect(clock.pendingTimers).toBe(0);
  });

  it("extend() survives a minority of nodes with another owner", async () => {
    const { lock, clock, inner } = await held(5);
    await steal(inner.slice(0, 2), "r", lock.owner);
    await clock.until(lock.extend());
    expect(lock.remainingMs()).toBeCloseTo(9898, 3);
    expect((await inner[0]?.inspect("r"))?.owner).toBe("thief");
  });

  it("extend() does not count a node that rejoins", async () => {
    const { lock, clock, inner } = await held(3);
    for (const node of inner.slice(0, 2)) await forget(node);
    await expect(clock.until(lock.extend())).rejects.toMatchObject({ reason: "not-held" });
  });

  it("extend() does not count a rejoined node when it retries, but the next extension does", async () => {
    const { lock, clock, node, inner } = await held(3);
    await forget(inner[1] as (typeof inner)[number]);
    node("c").fault = () => ({ reject: new Error("down") });
    const outcome = lock.extend().then(() => clock.monotonicMs());
    await clock.advance(3000);
    expect(node("b").callsOf("extend").length).toBeGreaterThan(2);
    node("c").fault = () => undefined;
    expect(await clock.until(outcome)).toBeGreaterThanOrEqual(3000);
    node("c").fault = () => ({ reject: new Error("down") });
    await clock.until(lock.extend());
    expect(lock.remainingMs()).toBeCloseTo(9898, 3);
  });

  it("extend() keeps a lock that all nodes lose one after another, as nodes rejoin", async () => {
    const { lock, clock, inner, heldOn, otherClient } = await held(5);
    for (const node of inner) {
      await forget(node);
      expect(await clock.until(otherClient().tryAcquire("r"))).toBeNull();
      await clock.until(lock.extend());
      await clock.advance(1000);
    }
    expect(await heldOn("r")).toEqual(["a", "b", "c", "d", "e"]);
    expect(lock.signal.aborted).toBe(false);
  });

  it("extend() retries without spinning while nodes are merely unreachable", async () => {
    const { lock, clock, nodes, node } = await held(3);
    for (const each of nodes.slice(0, 2)) each.fault = () => ({ reject: new Error("down") });
    const pending = lock.extend();
    await clock.advance(5000);
    const tries = node("a").callsOf("extend").length;
    expect(tries).toBeGreaterThan(5);
    expect(tries).toBeLessThan(200);
    for (const each of nodes) each.fault = () => undefined;
    await clock.until(pending);
    expect(lock.signal.aborted).toBe(false);
  });

  it("extend() gives up when the validity ends", async () => {
    const { lock, clock, nodes, expectNothingLeft } = await held(3);
    for (const node of nodes) node.fault = () => hang;
    const error = await clock.until(lock.extend().catch((reason: unknown) => reason));
    expect(error).toMatchObject({ code: "LOCK_LOST", reason: "unreachable" });
    expect((error as Error).message).toMatch(
      /^could not keep r: its validity ended while too few nodes replied; 0 of 3 nodes hold it, 2 needed; a timed out/,
    );
    expect(clock.monotonicMs()).toBeGreaterThan(9896);
    expect(clock.monotonicMs()).toBeLessThanOrEqual(9898);
    await expectNothingLeft(1000);
  });

  it("extend() sends nothing once the validity has ended", async () => {
    const { lock, clock, node } = await held(3);
    await clock.stall(9_950);
    await expect(clock.until(lock.extend())).rejects.toBeInstanceOf(LockLostError);
    expect(node("a").callsOf("extend")).toEqual([]);
  });

  it("extend() cannot revive a lock whose signal has aborted, even with replies to an earlier request", async () => {
    const { lock, clock, nodes } = await held(3, { nodeTimeoutMs: 500 });
    await clock.advance(9_800);
    for (const node of nodes) node.fault = () => ({ replyMs: 200 });
    await expect(clock.until(lock.extend())).rejects.toMatchObject({ reason: "unreachable" });
    await clock.advance(1000);
    expect(lock.remainingMs()).toBe(0);
  });

  it("extend() to less than the remaining ttl leaves the lock unchanged, on the nodes and locally", async () => {
    const { lock, clock, otherClient } = await held(3);
    const validUntilMs = clock.monotonicMs() + lock.remainingMs();
    await clock.advance(100);
    await clock.until(lock.extend({ ttlMs: 1000 }));
    const gainedMs = clock.monotonicMs() + lock.remainingMs() - validUntilMs;
    expect(gainedMs).toBeGreaterThanOrEqual(0);
    expect(gainedMs).toBeLessThan(2); // as clocks drift less in less time
    await clock.advance(9_000);
    expect(lock.remainingMs()).toBeGreaterThan(0);
    expect(await clock.until(otherClient().tryAcquire("r"))).toBeNull();
  });

  it("extend() to less than the remaining ttl makes rejoining nodes keep the claim as long as the others", async () => {
    const { redlock, clock, node, inner, otherClient } = world(3);
    node("c").fault = () => hang;
    const lock = await redlock.acquire("r", { ttlMs: 30_000 });
    node("c").fault = () => undefined;
    await clock.until(lock.extend({ ttlMs: 1000 })); // c rejoins
    await clock.advance(100);
    await forget(inner[1] as (typeof inner)[number]);
    await clock.until(lock.extend({ ttlMs: 1000 })); // a and c hold it, b rejoins
    await clock.advance(2000);
    expect(lock.remainingMs()).toBeGreaterThan(20_000);
    expect(await clock.until(otherClient().tryAcquire("r"))).toBeNull();
  });

  it("extend() to a longer ttl outlasts an earlier, shorter extension that reaches the nodes later", async () => {
    const { lock, clock, nodes, otherClient } = await held(3);
    await clock.advance(1000);
    for (const node of nodes) node.fault = () => ({ requestMs: 3000 });
    const shorter = lock.extend();
    await clock.advance(10);
    for (const node of nodes) node.fault = () => undefined;
    await clock.until(shorter);
    await clock.until(lock.extend({ ttlMs: 60_000 }));
    expect(clock.monotonicMs()).toBeLessThan(4000);
    await clock.advance(20_000);
    expect(lock.remainingMs()).toBeGreaterThan(30_000);
    expect(await clock.until(otherClient().tryAcquire("r"))).toBeNull();
  });

  it("extend() names who has taken the lock, by label if there is one", async () => {
    const { lock, redlock, clock, nodes, inner } = await held(3);
    for (const [index, node] of inner.entries()) {
      await node.release({ resources: ["r"], owner: lock.owner, timeoutMs: 50 });
      await node.acquire(claimOf(index === 0 ? "redis://user:s3cr3t@db" : `worker-7:${"0".repeat(32)}`, "r"));
    }
    const error: LockLostError = await clock.until(lock.extend().catch((reason) => reason));
    expect(error.message).toContain(
      "a does not hold it (held by another owner), b does not hold it (held by worker-7)",
    );
    expect(error.outcomes[1]).toEqual({ node: "b", kind: "not-held", blockedBy: "worker-7" });
    expect(JSON.stringify(error)).not.toContain("s3cr3t");
    for (const node of nodes) node.fault = () => ({ answer: { held: false, rejoined: false, holder: 7 } });
    await expect(clock.until(redlock.acquire("s"))).rejects.toThrow();
  });

  it("extend() notices a loss immediately, even if an earlier extension is still in flight", async () => {
    const { lock, clock, nodes, inner } = await held(3);
    for (const node of nodes) node.fault = ({ method }) => (method === "extend" ? { lose: "request" } : undefined);
    void lock.extend().catch(() => {});
    await clock.advance(10);
    for (const node of nodes) node.fault = () => undefined;
    await steal(inner, "r", lock.owner);
    await expect(clock.until(lock.extend({ ttlMs: 60_000 }))).rejects.toMatchObject({ reason: "not-held" });
    expect(clock.monotonicMs()).toBeLessThan(200);
  });

  it("extend() calls run one after another", async () => {
    const { lock, clock, nodes, node } = await held(3);
    for (const each of nodes) each.fault = () => ({ replyMs: 10 });
    await clock.until(Promise.all([lock.extend({ ttlMs: 20_000 }), lock.extend({ ttlMs: 30_000 })]));
    expect(
      node("a")
        .callsOf("extend")
        .map(({ atMs, request }) => [atMs, request.ttlMs]),
    ).toEqual([
      [0, 20_000],
      [10, 30_000],
    ]);
    expect(lock.remainingMs()).toBeCloseTo(30_000 - 302 - 10, 3);
  });

  it("extend() rejects a bad ttl, an unknown option, and a released lock", async () => {
    const { lock, clock } = await held(1);
    await expect(lock.extend({ ttlMs: 0 })).rejects.toThrow(RangeError);
    await expect(lock.extend({ ttl: 500 } as never)).rejects.toThrow(
      "ttl is not an option of an extension: did you mean ttlMs?",
    );
    await expect(lock.extend(500 as never)).rejects.toThrow(
      "the options of an extension must be an object, not 500: pass { ttlMs: 500 }",
    );
    await clock.until(lock.release());
    await expect(lock.extend()).rejects.toMatchObject({ code: "LOCK_LOST", reason: "released" });
  });
});

describe("automatic extension", () => {
  it("autoExtend continues when extend() is called just before it is due", async () => {
    const { lock, clock, nodes } = await held(3, { autoExtend: true });
    for (const node of nodes) node.fault = () => ({ replyMs: 5 });
    await clock.advance(4_949);
    await clock.until(lock.extend({ ttlMs: 30_000 }));
    expect(lock.remainingMs()).toBeGreaterThan(29_000);
    await clock.advance(300_000);
    expect(lock.remainingMs()).toBeGreaterThan(4000);
  });

  it("autoExtend notices that the machine was suspended for more than half of the validity", async () => {
    const { lock, clock } = await held(3, { autoExtend: true });
    clock.suspend(7_000);
    await clock.advance(1_000);
    expect(lock.remainingMs()).toBeGreaterThan(8_000);
  });

  it("autoExtend does not exceed maxHoldMs when its last retry succeeds late", async () => {
    const { lock, clock, nodes } = await held(3, { autoExtend: true, maxHoldMs: 12_000 });
    for (const node of nodes) node.fault = () => ({ reject: new Error("down") });
    await clock.advance(9_000);
    for (const node of nodes) node.fault = () => undefined;
    await clock.advance(2_000);
    expect(lock.signal.aborted).toBe(false);
    await clock.advance(1_000);
    expect(lock.signal.reason).toMatchObject({ reason: "max-hold" });
  });

  it("autoExtend ends the lock at maxHoldMs", async () => {
    const { lock, clock } = await held(3, { autoExtend: true, maxHoldMs: 25_000 });
    const { signal } = lock;
    await clock.advance(24_500);
    expect(signal.aborted).toBe(false);
    await clock.advance(500);
    expect(signal.aborted).toBe(true);
    expect(signal.reason).toMatchObject({ reason: "max-hold" });
    expect((signal.reason as Error).message).toContain("maxHoldMs, 25000 ms");
  });
});
