import { Redlock, RedlockClosedError } from "@holdfast/core";
import { memoryNode } from "@holdfast/memory";
import { describe, expect, it } from "vitest";
import { claimOf, held, world } from "../world.ts";

describe("close()", () => {
  it("close() waits for the undo of a misconfigured attempt, and leaves no claim on the healthy nodes", async () => {
    const { redlock, clock, node, heldOn } = world(3);
    node("c").fault = () => ({ reject: Object.assign(new Error("never"), { code: "MISCONFIGURED" }) });
    for (const name of ["a", "b"]) node(name).fault = () => ({ requestMs: 5, replyMs: 5 });
    await expect(clock.until(redlock.acquire("r"))).rejects.toMatchObject({ code: "MISCONFIGURED" });
    await clock.until(redlock.close());
    expect(await heldOn("r")).toEqual([]);
    expect(clock.monotonicMs()).toBeLessThan(50);
    expect(clock.pendingTimers).toBe(0);
  });

  it("close() waits for releases that are still in flight after a quorum replied", async () => {
    const { redlock, clock, node, heldOn } = world(3);
    await redlock.using("r", () => {
      node("c").fault = () => ({ requestMs: 20, replyMs: 5 });
    });
    expect(await heldOn("r")).toEqual(["c"]);
    await clock.until(redlock.close());
    expect(await heldOn("r")).toEqual([]);
    expect(clock.monotonicMs()).toBe(25);
  });

  it("close() waits for the undo of a grant that arrives while it waits", async () => {
    const { redlock, clock, node, heldOn } = world(3);
    node("c").fault = ({ method }) => (method === "acquire" ? { replyMs: 30 } : { requestMs: 10, replyMs: 5 });
    const lock = await redlock.acquire("r");
    void lock.release();
    await clock.until(redlock.close());
    expect(await heldOn("r")).toEqual([]);
    expect(clock.monotonicMs()).toBeLessThan(50);
  });

  it("close() waits for a hanging node no longer than the node timeout", async () => {
    const { redlock, clock, node } = world(3);
    node("c").fault = () => ({ lose: "request" });
    await redlock.using("r", () => {});
    await clock.until(redlock.close());
    expect(clock.monotonicMs()).toBe(50);
    expect(clock.pendingTimers).toBe(0);
  });

  it("close() waits for a release that still needs a permit", async () => {
    const { redlock, clock, nodes, heldOn } = world(1);
    const names = Array.from({ length: 300 }, (_, index) => `r${index}`);
    const locks = await Promise.all(names.map((name) => redlock.acquire(name)));
    for (const each of nodes) each.fault = () => ({ requestMs: 5, replyMs: 5 });
    for (const lock of locks) void lock.release();
    await clock.until(redlock.close());
    expect((await Promise.all(names.map(heldOn))).flat()).toEqual([]);
  });

  it("close() rejects waiting calls, which leave no claim behind", async () => {
    const { redlock, clock, inner, expectNothingLeft } = world(3);
    for (const node of inner) await node.acquire(claimOf("other", "r"));
    const waiting = redlock.acquire("r").catch((error: unknown) => error);
    const behind = redlock.acquire("r").catch((error: unknown) => error);
    await clock.advance(100);
    const closing = redlock.close();
    for (const error of [await clock.until(waiting), await behind]) {
      expect(error).toBeInstanceOf(RedlockClosedError);
      expect((error as Error).message).toBe("could not lock r: the Redlock is closed");
    }
    await clock.until(closing);
    for (const node of inner) await node.release({ ...claimOf("other", "r") });
    await expectNothingLeft(1_000);
  });

  it("close() releases an attempt that wins meanwhile, and its call rejects", async () => {
    const { redlock, clock, nodes, heldOn } = world(3);
    for (const each of nodes) each.fault = () => ({ requestMs: 5, replyMs: 5 });
    const acquiring = redlock.acquire("r").catch((error: unknown) => error);
    await clock.advance(1);
    const closing = redlock.close();
    expect(await clock.until(acquiring)).toBeInstanceOf(RedlockClosedError);
    await clock.until(closing);
    expect(await heldOn("r")).toEqual([]);
  });

  it("close() aborts `closed`, refuses later calls before anything is sent, and lets held locks be extended and released", async () => {
    const { lock, redlock, clock, nodes, heldOn } = await held(3);
    expect(redlock.closed.aborted).toBe(false);
    const closing = redlock.close();
    expect(redlock.closed.aborted).toBe(true);
    await clock.until(closing);
    const callsBefore = nodes.flatMap(({ calls }) => calls).length;
    for (const call of [
      () => redlock.acquire("s"),
      () => redlock.tryAcquire("s"),
      () => redlock.using("s", () => {}),
      () => redlock.inspect("s"),
    ]) {
      await expect(call()).rejects.toMatchObject({ code: "CLOSED", name: "RedlockClosedError", resources: ["s"] });
    }
    expect(nodes.flatMap(({ calls }) => calls)).toHaveLength(callsBefore);
    await clock.until(lock.extend());
    await clock.until(lock.release());
    expect(await heldOn("r")).toEqual([]);
  });

  it("close() closes each node once, even if one of them throws and another one hangs", async () => {
    const { clock, nodes, node, redlock: other } = world(4);
    await clock.until(other.close());
    const closed: string[] = [];
    const fails = () => {
      throw new Error("no");
    };
    const ends = { a: async () => {}, b: fails, c: () => new Promise(() => {}) };
    for (const [name, end] of Object.entries(ends)) {
      const close = () => {
        closed.push(name);
        return end();
      };
      Object.assign(node(name), { close });
    }
    const redlock = new Redlock(nodes, { clock, nodeTimeoutMs: 50 });
    const closing = redlock.close();
    expect(redlock.close()).toBe(closing);
    await clock.until(closing);
    expect(closed).toEqual(["a", "b", "c"]);
    expect(clock.monotonicMs()).toBe(50);
    expect(clock.pendingTimers).toBe(0);
  });

  it("close() leaves nodes open that another Redlock uses", async () => {
    const { clock, nodes, redlock } = world(1);
    const closed: string[] = [];
    Object.assign(nodes[0] as object, { close: () => void closed.push("a") });
    const other = new Redlock(nodes, { clock });
    await clock.until(redlock.close());
    expect(closed).toEqual([]);
    await clock.until(other.close());
    expect(closed).toEqual(["a"]);
  });

  it("close() immediately undoes an attempt that waits for a hanging node, whatever its node timeout", async () => {
    const { clock, nodes, node, heldOn } = world(3);
    const redlock = new Redlock(nodes, { clock, ttlMs: 1_000 });
    node("b").fault = ({ method }) => (method === "acquire" ? { reject: new Error("down") } : undefined);
    node("c").fault = () => ({ lose: "request" });
    const acquiring = redlock.acquire("r", { ttlMs: 30_000 }).catch((error: unknown) => error);
    await clock.advance(20);
    expect(await heldOn("r")).toEqual(["a"]);
    const closing = redlock.close();
    expect(await clock.until(acquiring)).toBeInstanceOf(RedlockClosedError);
    expect(clock.monotonicMs()).toBe(20);
    await clock.until(closing);
    expect(await heldOn("r")).toEqual([]);
  });

  it("close() waits for a slow release for up to the node timeout of its call", async () => {
    const { clock, nodes, node, heldOn } = world(1);
    const redlock = new Redlock(nodes, { clock, ttlMs: 1_000 });
    const lock = await redlock.acquire("r", { ttlMs: 30_000 });
    node("a").fault = () => ({ requestMs: 200 });
    void lock.release();
    await clock.until(redlock.close());
    expect(await heldOn("r")).toEqual([]);
  });

  it("close() keeps a call that is denied meanwhile from watching", async () => {
    const { redlock, clock, nodes, inner } = world(3);
    for (const each of inner) await each.acquire(claimOf("other", "r"));
    for (const each of nodes) each.fault = ({ method }) => (method === "acquire" ? { replyMs: 10 } : undefined);
    const acquiring = redlock.acquire("r").catch((error: unknown) => error);
    await clock.advance(1);
    await clock.until(redlock.close());
    expect(await acquiring).toBeInstanceOf(RedlockClosedError);
    expect(nodes.flatMap((each) => each.callsOf("watch"))).toEqual([]);
  });

  it("Redlock[Symbol.asyncDispose]() closes the Redlock", async () => {
    let kept: Redlock;
    {
      await using redlock = new Redlock([memoryNode()]);
      await redlock.using("r", () => {});
      kept = redlock;
    }
    await expect(kept.acquire("r")).rejects.toMatchObject({ code: "CLOSED" });
  });
});
