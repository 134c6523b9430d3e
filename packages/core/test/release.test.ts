import { QuorumUnreachableError } from "@holdfast/core";
import { describe, expect, it } from "vitest";
import { claimOf, world } from "./world.ts";

const hang = { lose: "request" } as const;

describe("release (S9)", () => {
  it("release() frees all nodes, and settles when a quorum has answered", async () => {
    const { redlock, clock, node, heldOn } = world(3);
    const lock = await redlock.acquire("r");
    node("c").fault = () => ({ replyMs: 40 });
    await clock.until(lock.release());
    expect(clock.monotonicMs()).toBe(0);
    expect(await heldOn("r")).toEqual([]);
    expect(lock.remainingMs()).toBe(0);
    expect(lock.signal.aborted).toBe(false);
    await clock.advance(50);
    expect(clock.pendingTimers).toBe(0);
  });

  it("release() can be repeated, and asks the nodes once when it was confirmed", async () => {
    const { redlock, clock, node } = world(3);
    const lock = await redlock.acquire("r");
    await clock.until(Promise.all([lock.release(), lock.release()]));
    await clock.until(lock.release());
    expect(node("a").callsOf("release")).toHaveLength(1);
  });

  it("release() of an expired lock resolves at once and frees what is left of it, though every node hangs", async () => {
    const { redlock, clock, nodes, node } = world(3);
    const lock = await redlock.acquire("r");
    await clock.advance(9_950);
    for (const each of nodes) each.fault = () => hang;
    const before = clock.monotonicMs();
    await clock.until(lock.release());
    expect(clock.monotonicMs()).toBe(before);
    expect(node("a").callsOf("release")).not.toEqual([]);
    await clock.advance(100);
    expect(clock.pendingTimers).toBe(0);
  });

  it("release() never frees the claim of another owner", async () => {
    const { redlock, clock, rival, inner } = world(3);
    const lock = await redlock.acquire("r");
    await clock.stall(10_000);
    const other = await rival().acquire("r");
    await clock.until(lock.release());
    for (const each of inner) expect((await each.inspect("r")).owner).toBe(other.owner);
  });

  it("release() that half failed says so, and a second one frees the rest", async () => {
    const { redlock, clock, nodes, heldOn } = world(3);
    const lock = await redlock.acquire("r");
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

  it("release() that failed is fast when it is repeated after the lock has ended", async () => {
    const { redlock, clock, nodes } = world(3);
    const lock = await redlock.acquire("r");
    for (const each of nodes) each.fault = () => hang;
    await expect(clock.until(lock.release())).rejects.toThrow(QuorumUnreachableError);
    await clock.advance(10_000);
    await clock.until(lock.release());
    expect(clock.monotonicMs()).toBe(10_050);
  });

  it("release() undoes an extension that reaches a node after it", async () => {
    const { redlock, clock, node, nodes, heldOn, inner } = world(3);
    const lock = await redlock.acquire("r");
    for (const each of nodes) each.fault = ({ method }) => (method === "extend" ? { requestMs: 30 } : undefined);
    const extension = lock.extend().catch((reason: unknown) => reason);
    await clock.advance(10);
    await clock.until(lock.release());
    expect(await heldOn("r")).toEqual([]);
    await clock.advance(20);
    // The late extension has claimed the resource again, as on a node that lost its memory; and was undone.
    expect(await extension).toMatchObject({ code: "LOCK_LOST", reason: "released" });
    expect(await heldOn("r")).toEqual([]);
    expect(node("a").callsOf("release")).toHaveLength(2);
    expect((await inner[0]?.inspect("r"))?.owner).toBeNull();
    await clock.advance(100);
    expect(clock.pendingTimers).toBe(0);
  });

  it("release() fails in time when every node hangs", async () => {
    const { redlock, clock, nodes } = world(3);
    const lock = await redlock.acquire("r");
    for (const each of nodes) each.fault = () => hang;
    await expect(clock.until(lock.release())).rejects.toThrow(
      "could not release r: 0 of 3 nodes answered, 2 needed; a timed out after 50 ms",
    );
    expect(clock.monotonicMs()).toBe(50);
  });

  it("await using releases, and a failing release does not hide what happened", async () => {
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

  it("a lock that was stolen on all nodes is released without harm", async () => {
    const { redlock, clock, inner } = world(3);
    const lock = await redlock.acquire("r");
    for (const each of inner) {
      await each.release({ resources: ["r"], owner: lock.owner, timeoutMs: 1 });
      await each.acquire(claimOf("thief", "r"));
    }
    await clock.until(lock.release());
    for (const each of inner) expect((await each.inspect("r")).owner).toBe("thief");
  });
});
