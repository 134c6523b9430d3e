import * as core from "@holdfast/core";
import { ConfigurationError, HoldfastError, LockHeldError, NodeTimeoutError, Redlock } from "@holdfast/core";
import { memoryNode } from "@holdfast/memory";
import { describe, expect, it, vi } from "vitest";
import { claimOf, world } from "../world.ts";

async function errorOf(promise: Promise<unknown>): Promise<HoldfastError> {
  return promise.then(
    () => expect.unreachable("it did not fail"),
    (error) => error as HoldfastError,
  );
}

describe("error messages and outcomes", () => {
  it("acquire() names the label of the holder", async () => {
    const { redlock, clock, otherClient } = world(3, { waitTimeoutMs: 0 });
    await otherClient().acquire("r", { label: "night shift", ttlMs: 5_000 });
    const error = await errorOf(clock.until(redlock.acquire("r")));
    expect(error.message).toBe(
      "could not lock r: night shift holds it; 0 of 3 nodes granted, 2 needed; " +
        "a denied (held by night shift for up to 5000 ms more), b denied (held by night shift for up to 5000 ms more)",
    );
  });

  it("acquire() names no holder when nodes disagree, and shows no value of a foreign program", async () => {
    const { redlock, clock, inner } = world(3, { waitTimeoutMs: 0 });
    for (const [index, node] of inner.entries()) {
      await node.acquire({ ...claimOf(`worker-${index}:${"0".repeat(32)}`, "r") });
      await node.acquire({ ...claimOf("redis://user:s3cr3t@db", "cfg") });
    }
    expect((await errorOf(clock.until(redlock.acquire("r")))).message).toContain("the nodes name different owners");
    const foreign = await errorOf(clock.until(redlock.acquire("cfg")));
    expect(foreign.message).toContain("another owner holds it");
    expect(JSON.stringify(foreign)).not.toContain("s3cr3t");
  });

  it("acquire() reports that this process holds the resource, since when and as whom, as in a nested call", async () => {
    const { redlock, clock } = world(3);
    const nested = redlock.using("r", () => redlock.using("r", { waitTimeoutMs: 100 }, () => {}));
    expect((await errorOf(clock.until(nested))).message).toBe(
      "could not lock r: waited 100 ms; this process has held r for 100 ms (a call within that lock waits for itself)",
    );
    await redlock.using("s", { label: "worker-7" }, async () => {
      await clock.advance(250);
      const error = await errorOf(clock.until(redlock.acquire(["s", "t"], { waitTimeoutMs: 0 })));
      expect(error.message).toContain("this process has held s for 250 ms, as worker-7 (a");
    });
  });

  it("acquire() lists the first of very many names, and how many there are, when no node replies", async () => {
    const { redlock, clock, nodes } = world(3, { waitTimeoutMs: 20 });
    for (const each of nodes) each.fault = () => ({ reject: new Error("down") });
    const names = Array.from({ length: 130_000 }, (_, index) => `r${1_000_000 + index}`);
    const { code, message, resources } = await errorOf(clock.until(redlock.acquire(names)));
    expect(message).toMatch(
      /^could not lock r1000000, r1000001, [r0-9, ]+, r1000009 and 129990 more: made \d+ attempts/,
    );
    expect({ code, count: resources.length }).toEqual({ code: "QUORUM_UNREACHABLE", count: 130_000 });
  });

  it("acquire() says what blocks it if that is no claim", async () => {
    const { redlock, clock, nodes } = world(3, { waitTimeoutMs: 0 });
    for (const each of nodes) each.fault = () => ({ answer: { granted: false, blockedBy: "a transaction" } });
    const { message, outcomes } = await errorOf(clock.until(redlock.acquire("r")));
    expect(message).toContain("could not lock r: a transaction blocks it; 0 of 3 nodes granted");
    expect(message).toContain("a denied (blocked by a transaction)");
    expect(outcomes[0]).toEqual({ node: "a", kind: "denied", blockedBy: "a transaction" });
    for (const each of nodes) each.fault = () => ({ answer: { granted: false, blockedBy: 7 } });
    expect((await errorOf(clock.until(redlock.acquire("r")))).message).toContain("a denied, b denied");
  });

  it("acquire() reports a key that never expires", async () => {
    const { redlock, clock, nodes } = world(3, { waitTimeoutMs: 100 });
    for (const each of nodes) each.fault = () => ({ answer: { granted: false, retryAfterMs: Infinity } });
    const { message } = await errorOf(clock.until(redlock.acquire("r")));
    expect(message).toContain("a foreign program holds a key that never expires");
    expect(message).toContain("a denied (held by a key that never expires)");
    const error = await errorOf(clock.until(redlock.acquire("r")));
    expect(JSON.parse(JSON.stringify(error)).outcomes[0]).toMatchObject({ retryAfterMs: "Infinity" });
  });

  it("acquire() lists a node without a reply in the outcomes, but not in the message", async () => {
    const { redlock, clock, otherClient, node } = world(3, { waitTimeoutMs: 0 });
    await otherClient().acquire("r");
    node("c").fault = () => ({ requestMs: 20 });
    const error = await errorOf(clock.until(redlock.acquire("r")));
    expect(error.message).not.toMatch(/\bc\b|answered/);
    expect(error.outcomes[2]).toEqual({ node: "c", kind: "unanswered" });
  });

  it("cause is the error of the first node that failed", async () => {
    const { redlock, clock, node } = world(3, { waitTimeoutMs: 0 });
    const refused = Object.assign(new Error("connect ECONNREFUSED 127.0.0.1:7002"), { code: "ECONNREFUSED" });
    for (const name of ["b", "c"]) node(name).fault = () => ({ reject: refused });
    const error = await errorOf(clock.until(redlock.acquire("r")));
    expect(error.cause).toBe(refused);
    expect(error.message).toContain("b failed: connect ECONNREFUSED 127.0.0.1:7002");
  });

  it("toJSON() contains the message, and how each node failed", async () => {
    const { redlock, clock, nodes, node } = world(3, { waitTimeoutMs: 0 });
    for (const each of nodes) each.fault = () => ({ lose: "request" });
    node("b").fault = () => ({
      reject: Object.assign(new Error("refused"), { code: "ECONNREFUSED", command: ["AUTH", "secret"] }),
    });
    const error = await errorOf(clock.until(redlock.acquire("r")));
    const late = { name: "NodeTimeoutError", code: "NODE_TIMEOUT", message: "timed out after 50 ms" };
    expect(JSON.parse(JSON.stringify(error))).toEqual({
      name: "QuorumUnreachableError",
      code: "QUORUM_UNREACHABLE",
      message: error.message,
      resources: ["r"],
      outcomes: [
        { node: "a", kind: "failed", error: late },
        { node: "b", kind: "failed", error: { name: "Error", code: "ECONNREFUSED", message: "refused" } },
        { node: "c", kind: "failed", error: late },
      ],
    });
  });
});

describe("instanceof", () => {
  it("instanceof recognises errors of another copy of this package, each by its class", async () => {
    vi.resetModules();
    const copy: typeof core = await import("@holdfast/core");
    expect(copy.HoldfastError).not.toBe(HoldfastError);
    const error = new copy.LockHeldError("held", ["r"]);
    expect(error).toBeInstanceOf(LockHeldError);
    expect(error).toBeInstanceOf(HoldfastError);
    expect(error).not.toBeInstanceOf(ConfigurationError);
    expect(error).not.toBeInstanceOf(NodeTimeoutError);
    expect(new copy.NodeTimeoutError(5)).toBeInstanceOf(NodeTimeoutError);
    expect(new copy.NodeTimeoutError(5)).not.toBeInstanceOf(HoldfastError);
    expect(new copy.InvalidReplyError("odd")).toBeInstanceOf(core.InvalidReplyError);
  });

  it("instanceof rejects other values, and base-class errors for a derived class", () => {
    class Mine extends LockHeldError {}
    expect(new LockHeldError("held", [])).not.toBeInstanceOf(Mine);
    expect(new Mine("held", [])).toBeInstanceOf(LockHeldError);
    const hostile = new Proxy(
      {},
      {
        get: () => {
          throw new Error("trap");
        },
      },
    );
    for (const value of [hostile, undefined, null, 1, "LOCK_HELD", {}, { code: "LOCK_HELD" }, new Error("x")]) {
      expect(value).not.toBeInstanceOf(HoldfastError);
      expect(value).not.toBeInstanceOf(LockHeldError);
    }
  });
});

describe("common mistakes", () => {
  const nodes = () => [memoryNode()];
  it.each<[unknown, string]>([
    [
      [{ evalsha() {}, options: { password: "hunter2" } }],
      "a node must be a lock node with acquire, extend and release, not an object: wrap each client with ioredisNode(client)",
    ],
    [{ evalSha() {} }, "wrap each client with nodeRedisNode(client)"],
  ])("Redlock() gives advice for clients instead of nodes: %o", (clients, message) => {
    expect(() => new Redlock(clients as never)).toThrow(TypeError);
    expect(() => new Redlock(clients as never)).toThrow(message);
  });

  it.each<[unknown, string]>([
    [[], "the options of a Redlock must be an object, not an array"],
    [null, "the options of a Redlock must be an object, not null"],
    [{ observer: 5 }, "observer must be an object, not 5"],
    [{ observer: [] }, "observer must be an object, not an array"],
    [{ observer: { onLost() {} } }, "onLost is not an option of an observer: did you mean lost?"],
    [{ observer: { lost: 5 } }, "observer.lost must be a function, not 5"],
    [{ timeout: 5 }, "did you mean nodeTimeoutMs or waitTimeoutMs?"],
    [{ clock: {} }, "clock must be an object with the method monotonicMs, not an object"],
    [{ waitTimeoutMss: 1 }, "did you mean waitTimeoutMs?"],
    [{ attempts: 1 }, "its options are nodeTimeoutMs, quorum, mode, ttlMs, "],
  ])("Redlock() gives advice for the options %o", (options, message) => {
    expect(() => new Redlock(nodes(), options as never)).toThrow(TypeError);
    expect(() => new Redlock(nodes(), options as never)).toThrow(message);
  });

  it("acquire() and using() give advice for a ttl instead of options", async () => {
    const redlock = new Redlock(nodes());
    const wanted = "the options of a lock must be an object, not 5000: pass { ttlMs: 5000 }";
    await expect(redlock.using(["x"], 5000 as never, () => {})).rejects.toThrow(wanted);
    await expect(redlock.acquire("x", 5000 as never)).rejects.toThrow(wanted);
    await redlock.tryAcquire("y", {});
    for (const options of [null, [], new Map(), new Date()])
      await expect(redlock.acquire("x", options as never)).rejects.toThrow(TypeError);
  });

  it("Redlock() accepts a class instance with other members as an observer", async () => {
    class Counter implements core.Observer {
      count = 0;
      acquired(): void {
        this.count += 1;
      }
    }
    const observer = new Counter();
    await new Redlock(nodes(), { observer }).using("r", () => {});
    expect(observer.count).toBe(1);
  });
});
