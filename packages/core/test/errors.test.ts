import * as core from "@holdfast/core";
import { ConfigurationError, HoldfastError, LockHeldError, NodeTimeoutError, Redlock } from "@holdfast/core";
import { memoryNode } from "@holdfast/memory";
import { describe, expect, it, vi } from "vitest";
import { claimOf, world } from "./world.ts";

async function errorOf(promise: Promise<unknown>): Promise<HoldfastError> {
  return promise.then(
    () => expect.unreachable("it did not fail"),
    (error) => error as HoldfastError,
  );
}

describe("errors say why", () => {
  it("a lock that is held elsewhere names the label of its holder", async () => {
    const { redlock, clock, rival } = world(3, { waitTimeoutMs: 0 });
    await rival().acquire("r", { label: "night shift", ttlMs: 5_000 });
    const error = await errorOf(clock.until(redlock.acquire("r")));
    expect(error.message).toBe(
      "could not lock r: night shift holds it; 0 of 3 nodes granted, 2 needed; " +
        "a denied (held by night shift for up to 5000 ms more), b denied (held by night shift for up to 5000 ms more)",
    );
  });

  it("names nobody where nodes name different owners, and shows no value of a foreign program", async () => {
    const { redlock, clock, inner } = world(3, { waitTimeoutMs: 0 });
    for (const [index, node] of inner.entries()) {
      await node.acquire({ ...claimOf(`worker-${index}:${"0".repeat(32)}`, "r") });
      await node.acquire({ ...claimOf("redis://user:s3cr3t@db", "cfg") });
    }
    expect((await errorOf(clock.until(redlock.acquire("r")))).message).toContain("several owners are in the way");
    const foreign = await errorOf(clock.until(redlock.acquire("cfg")));
    expect(foreign.message).toContain("another owner is in the way");
    expect(JSON.stringify(foreign)).not.toContain("s3cr3t");
  });

  it("a wait that timed out names the label of the holder", async () => {
    const { redlock, clock, rival } = world(3, { waitTimeoutMs: 100 });
    await rival().acquire("r", { label: "night shift" });
    const error = await errorOf(clock.until(redlock.acquire("r")));
    expect(error.code).toBe("WAIT_TIMEOUT");
    expect(error.message).toContain("; night shift holds it; ");
  });

  it("a call that is nested in another for the same name is told that this process holds it", async () => {
    const { redlock, clock } = world(3);
    const nested = redlock.using("r", () => redlock.using("r", { waitTimeoutMs: 100 }, () => {}));
    expect((await errorOf(clock.until(nested))).message).toBe(
      "could not lock r: waited 100 ms; this process itself holds r (a call nested in another one for the same name waits for itself)",
    );
    await redlock.using("s", async () => {
      const error = await errorOf(clock.until(redlock.acquire(["s", "t"], { waitTimeoutMs: 0 })));
      expect(error.message).toContain("this process itself holds s ");
    });
  });

  it("a key without an end in the way is called that", async () => {
    const { redlock, clock, nodes } = world(3, { waitTimeoutMs: 100 });
    for (const each of nodes) each.fault = () => ({ answer: { granted: false, retryAfterMs: Infinity } });
    const { message } = await errorOf(clock.until(redlock.acquire("r")));
    expect(message).toContain("a foreign program keeps a key without an end");
    expect(message).toContain("a denied (held by a key without an end)");
    const error = await errorOf(clock.until(redlock.acquire("r")));
    expect(JSON.parse(JSON.stringify(error)).outcomes[0]).toMatchObject({ retryAfterMs: "Infinity" });
  });

  it("a node that had not answered when the outcome was certain is not in the message, but in the outcomes", async () => {
    const { redlock, clock, rival, node } = world(3, { waitTimeoutMs: 0 });
    await rival().acquire("r");
    node("c").fault = () => ({ requestMs: 20 });
    const error = await errorOf(clock.until(redlock.acquire("r")));
    expect(error.message).not.toMatch(/\bc\b|answered/);
    expect(error.outcomes[2]).toEqual({ node: "c", kind: "unanswered" });
  });

  it("the cause is the error of the first node that failed", async () => {
    const { redlock, clock, node } = world(3, { waitTimeoutMs: 0 });
    const refused = Object.assign(new Error("connect ECONNREFUSED 127.0.0.1:7002"), { code: "ECONNREFUSED" });
    for (const name of ["b", "c"]) node(name).fault = () => ({ reject: refused });
    const error = await errorOf(clock.until(redlock.acquire("r")));
    expect(error.cause).toBe(refused);
    expect(error.message).toContain("b failed: connect ECONNREFUSED 127.0.0.1:7002");
  });

  it("JSON.stringify shows the message, and how each node failed", async () => {
    const { redlock, clock, nodes, node } = world(3, { waitTimeoutMs: 0 });
    for (const each of nodes) each.fault = () => ({ lose: "request" });
    node("b").fault = () => ({
      reject: Object.assign(new Error("refused"), { code: "ECONNREFUSED", command: ["AUTH", "secret"] }),
    });
    const error = await errorOf(clock.until(redlock.acquire("r")));
    expect(JSON.parse(JSON.stringify(error))).toEqual({
      name: "QuorumUnreachableError",
      code: "QUORUM_UNREACHABLE",
      message: error.message,
      resources: ["r"],
      outcomes: [
        {
          node: "a",
          kind: "failed",
          error: { name: "NodeTimeoutError", code: "NODE_TIMEOUT", message: "timed out after 50 ms" },
        },
        { node: "b", kind: "failed", error: { name: "Error", code: "ECONNREFUSED", message: "refused" } },
        {
          node: "c",
          kind: "failed",
          error: { name: "NodeTimeoutError", code: "NODE_TIMEOUT", message: "timed out after 50 ms" },
        },
      ],
    });
  });
});

describe("instanceof", () => {
  it("recognises the errors of another copy of this package, each by its class", async () => {
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

  it("does not take other values, nor errors of the base, for errors of a derived class", () => {
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

describe("common slips", () => {
  const nodes = () => [memoryNode()];
  const slips: [string, () => unknown, string][] = [
    [
      "ioredis clients for nodes",
      () => new Redlock([{ evalsha() {}, options: { password: "hunter2" } }] as never),
      "a node must be a lock node with acquire, extend and release, not an object: wrap each client with ioredisNode(client)",
    ],
    [
      "one client for a list",
      () => new Redlock({ evalSha() {} } as never),
      "wrap each client with nodeRedisNode(client)",
    ],
    [
      "options that are an array",
      () => new Redlock(nodes(), [] as never),
      "the options of a Redlock must be an object, not an array",
    ],
    [
      "options that are null",
      () => new Redlock(nodes(), null as never),
      "the options of a Redlock must be an object, not null",
    ],
    [
      "an observer that is a number",
      () => new Redlock(nodes(), { observer: 5 as never }),
      "observer must be an object, not 5",
    ],
    [
      "an unknown event",
      () => new Redlock(nodes(), { observer: { onLost() {} } as never }),
      "onLost is not an option of an observer: did you mean lost?",
    ],
    [
      "a callback that is none",
      () => new Redlock(nodes(), { observer: { lost: 5 as never } }),
      "observer.lost must be a function, not 5",
    ],
    [
      "an observer that is an array",
      () => new Redlock(nodes(), { observer: [] as never }),
      "observer must be an object, not an array",
    ],
    [
      "a name that two are like",
      () => new Redlock(nodes(), { timeout: 5 } as never),
      "did you mean nodeTimeoutMs or waitTimeoutMs?",
    ],
    [
      "an empty clock",
      () => new Redlock(nodes(), { clock: {} as never }),
      "clock must be an object with the method monotonicMs, not an object",
    ],
    ["a letter too many", () => new Redlock(nodes(), { waitTimeoutMss: 1 } as never), "did you mean waitTimeoutMs?"],
    [
      "a name that nothing is like",
      () => new Redlock(nodes(), { retries: 1 } as never),
      "its options are observer, clock, maxWaiters, ",
    ],
  ];
  it.each(slips)("%s: the error says what to do", (_, make, message) => {
    expect(make).toThrow(TypeError);
    expect(make).toThrow(message);
  });

  it("a ttl in the place of the options", async () => {
    const redlock = new Redlock(nodes());
    const wanted = "the options of a lock must be an object, not 5000: pass { ttlMs: 5000 }";
    await expect(redlock.using(["x"], 5000 as never, () => {})).rejects.toThrow(wanted);
    await expect(redlock.acquire("x", 5000 as never)).rejects.toThrow(wanted);
    await redlock.tryAcquire("y", {});
    for (const options of [null, [], new Map(), new Date()])
      await expect(redlock.acquire("x", options as never)).rejects.toThrow(TypeError);
  });

  it("an instance of a class may be an observer, with members of its own", async () => {
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

describe("nodeTimeoutMs", () => {
  it.each([
    [undefined, 500],
    [60_000, 500],
    [1_000, 50],
    [50, 3],
    [3, 1],
  ])("a ttl of %s ms gives nodes %s ms by default", async (ttlMs, timeoutMs) => {
    const { redlock, nodes } = world(1, { nodeTimeoutMs: undefined });
    await redlock.acquire("r", { ttlMs });
    expect(nodes[0]?.calls[0]?.request.timeoutMs).toBe(timeoutMs);
  });

  it("a call with a ttl of its own keeps the node timeout of the Redlock", async () => {
    const { redlock, nodes } = world(1, { nodeTimeoutMs: 200 });
    await redlock.acquire("r", { ttlMs: 1_000 });
    expect(nodes[0]?.calls[0]?.request.timeoutMs).toBe(200);
  });
});
