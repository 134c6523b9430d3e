import { type LockNode, type LockOptions, Redlock, type RedlockOptions } from "@holdfast/core";
import { memoryNode } from "@holdfast/memory";
import { describe, expect, it } from "vitest";
import { world } from "../world.ts";

const three = () => [1, 2, 3].map(() => memoryNode());

function expectRefusal(make: () => unknown, type: ErrorConstructor, message: string): void {
  expect(make).toThrow(type);
  expect(make).toThrow(message);
}

/** Expects that each way to lock refuses these arguments, before anything is sent. */
async function expectLocksRefused(resources: string, options: LockOptions, type: ErrorConstructor, message: string) {
  const { redlock, nodes } = world(3);
  for (const call of [
    () => redlock.acquire(resources, options),
    () => redlock.tryAcquire(resources, options),
    () => redlock.using(resources, options, () => {}),
  ]) {
    await expect(call()).rejects.toThrow(type);
    await expect(call()).rejects.toThrow(message);
  }
  expect(nodes.flatMap((node) => node.calls)).toEqual([]);
}

describe("bad arguments", () => {
  const badNodes: [string, unknown, ErrorConstructor, string][] = [
    ["no nodes", [], RangeError, "nodes must have at least one lock node, not none"],
    ["a string", "redis://", TypeError, "nodes must be a list of lock nodes, not a string"],
    ["undefined", undefined, TypeError, "nodes must be a list of lock nodes, not undefined"],
    ["an object without methods", [{ name: "x" }], TypeError, "a node must be a lock node with acquire"],
    ["a list with null", [null], TypeError, "a node must be a lock node with acquire"],
    [
      "a node without a name",
      [{ ...memoryNode(), name: "" }],
      TypeError,
      "a node's name must be a non-empty string, not an empty string",
    ],
    [
      "a node that suggests no time",
      [{ ...memoryNode(), suggestedTimeoutMs: 0 }],
      RangeError,
      "a node's suggestedTimeoutMs must be a positive integer, not 0",
    ],
    [
      "two nodes with one name",
      [memoryNode({ name: "x" }), memoryNode({ name: "x" })],
      RangeError,
      "nodes and their names must be distinct: two are called x",
    ],
  ];
  it.each(badNodes)("Redlock() refuses %s", (_, nodes, type, message) => {
    expectRefusal(() => new Redlock(nodes as LockNode[]), type, message);
  });

  type BadOption = [Record<string, unknown>, ErrorConstructor, string];
  const badServerOptions: BadOption[] = [
    [{ nodeTimeoutMs: 10_000 }, RangeError, "ttlMs must be above nodeTimeoutMs, 10000, not 10000"],
    [{ nodeTimeoutMs: 0 }, RangeError, "nodeTimeoutMs must be above 0, not 0"],
    [{ nodeTimeoutMs: "50" }, TypeError, "nodeTimeoutMs must be a number, not a string"],
    [{ driftFactor: 1 }, RangeError, "driftFactor must be from 0 to below 1, not 1"],
    [{ quorum: 1 }, RangeError, "quorum must be from the majority, 2, to all 3 of the nodes, not 1"],
    [{ quorum: 2.5 }, RangeError, "quorum must be a positive integer, not 2.5"],
    [{ retryDelayMs: 0 }, RangeError, "retryDelayMs must be above 0, not 0"],
    [{ retryDelayMaxMs: 10 }, RangeError, "retryDelayMaxMs must be at least retryDelayMs, 25, not 10"],
    [{ maxWaiters: 0 }, RangeError, "maxWaiters must be a positive integer, not 0"],
  ];
  it.each(badServerOptions)("Redlock() refuses %o, and acquire() any value", async (options, type, message) => {
    expectRefusal(() => new Redlock(three(), options as RedlockOptions), type, message);
    const { redlock, nodes } = world(3);
    const [name] = Object.keys(options);
    const refused = redlock.acquire("r", { [name as string]: 1 });
    await expect(refused).rejects.toThrow(`${name} is an option of a Redlock, and not of a lock`);
    await expect(redlock.acquire("", { [name as string]: undefined })).rejects.toThrow("empty string");
    expect(nodes.flatMap((node) => node.calls)).toEqual([]);
  });

  it("acquire() refuses a ttl that is not above the nodeTimeoutMs of the Redlock", async () => {
    const { redlock, nodes } = world(3, { nodeTimeoutMs: 50 });
    const message = "ttlMs must be above nodeTimeoutMs, 50, not 50";
    await expect(redlock.acquire("r", { ttlMs: 50 })).rejects.toThrow(message);
    expect(nodes.flatMap((node) => node.calls)).toEqual([]);
  });

  const badOptions: BadOption[] = [
    [{ ttlMs: 0 }, RangeError, "ttlMs must be a positive integer, not 0"],
    [{ ttlMs: Number.NaN }, RangeError, "ttlMs must be a positive integer, not NaN"],
    [{ ttlMs: "1000" }, TypeError, "ttlMs must be a number, not a string"],
    [{ ttlMs: null }, TypeError, "ttlMs must be a number, not null"],
    [{ maxHoldMs: Symbol("s") }, TypeError, "maxHoldMs must be a number, not a symbol"],
    [{ ttlMs: 2 }, RangeError, "ttlMs must be above the allowance for clock drift, 2.02 ms, not 2"],
    [{ waitTimeoutMs: -1 }, RangeError, "waitTimeoutMs must be at least 0, not -1"],
    [{ maxHoldMs: 9_999 }, RangeError, "maxHoldMs must be at least ttlMs, 10000, not 9999"],
    [{ label: "" }, RangeError, "label must be 1 to 100 printable characters, not an empty string"],
    [{ label: "a\nb" }, RangeError, "label must be 1 to 100 printable characters"],
    [{ label: 7 }, TypeError, "label must be a string, not 7"],
    [{ signal: {} }, TypeError, "signal must be an AbortSignal"],
    [{ autoExtend: "yes" }, TypeError, "autoExtend must be a boolean, not a string"],
    [{ awaitRelease: 0 }, TypeError, "awaitRelease must be a boolean, not 0"],
    [{ ttl: 1000 }, TypeError, "did you mean ttlMs?"],
  ];
  it.each(badOptions)("Redlock() and acquire() refuse %o", async (options, type, message) => {
    expectRefusal(() => new Redlock(three(), options as RedlockOptions), type, message);
    await expectLocksRefused("r", options, type, message);
  });

  it("Redlock() does not show the secrets of a client that was passed instead of a node", () => {
    const client = { options: { password: "hunter2" } };
    expect(() => new Redlock([client as never])).toThrow("not an object");
    expect(() => new Redlock(three(), { signal: client as never })).toThrow("not an object");
  });

  const badResources: [unknown, ErrorConstructor, string][] = [
    ["", RangeError, "a resource must not be an empty string"],
    [[], RangeError, "resources must name at least one resource, not none"],
    [["a", ""], RangeError, "a resource must not be an empty string"],
    [["a", 7], TypeError, "a resource must be a string, not 7"],
    [undefined, TypeError, "resources must be a string or a list of strings, not undefined"],
    [{}, TypeError, "resources must be a string or a list of strings"],
    ["a\ud800", TypeError, "a resource must be well-formed Unicode"],
  ];
  it.each(badResources)("acquire() refuses the resource %o", async (resources, type, message) => {
    await expectLocksRefused(resources as string, {}, type, message);
  });

  it("inspect() refuses anything but one resource", async () => {
    const { redlock } = world(3);
    await expect(redlock.inspect("")).rejects.toThrow(RangeError);
    await expect(redlock.inspect(["a"] as never)).rejects.toThrow(TypeError);
  });

  it("using() refuses a routine that is not a function", async () => {
    const { redlock, nodes } = world(3);
    await expect(redlock.using("r", "work" as never)).rejects.toThrow("routine must be a function, not a string");
    await expect(redlock.using("r", {}, undefined as never)).rejects.toThrow(TypeError);
    expect(nodes.flatMap((node) => node.calls)).toEqual([]);
  });

  const suggestions = [undefined, 300, 100];
  const timeouts: [string, (number | undefined)[], RedlockOptions, number][] = [
    ["a twentieth of the default ttl", [], {}, 500],
    ["at most 500 ms", [], { ttlMs: 60_000 }, 500],
    ["a twentieth of the ttl", [], { ttlMs: 1_000 }, 50],
    ["a twentieth of the ttl, rounded up", [], { ttlMs: 50 }, 3],
    ["at least 1 ms", [], { ttlMs: 3 }, 1],
    ["the timeout of the Redlock", [], { ttlMs: 1_000, nodeTimeoutMs: 200 }, 200],
    ["the largest suggestion of the nodes", suggestions, { ttlMs: 1_000 }, 300],
    ["at most half of the ttl, whatever they suggest", suggestions, { ttlMs: 400 }, 200],
    ["a twentieth of the ttl if that is longer than what they suggest", suggestions, { ttlMs: 8_000 }, 400],
    ["the timeout of the Redlock, whatever they suggest", suggestions, { ttlMs: 1_000, nodeTimeoutMs: 70 }, 70],
  ];
  it.each(timeouts)("acquire() gives nodes %s", async (_, suggested, { ttlMs, ...options }, timeoutMs) => {
    const { nodes, clock } = world(3);
    for (const [index, node] of nodes.entries()) {
      node.fault = () => ({ lose: "reply" });
      if (suggested[index]) Object.assign(node, { suggestedTimeoutMs: suggested[index] });
    }
    const redlock = new Redlock(nodes, { clock, ...options });
    await expect(clock.until(redlock.acquire("r", { ttlMs, waitTimeoutMs: 0 }))).rejects.toThrow(
      `timed out after ${timeoutMs} ms`,
    );
    expect(nodes[0]?.calls[0]?.request.timeoutMs).toBe(timeoutMs);
  });

  it("acquire() options override those of the constructor", async () => {
    const { redlock, clock } = world(3, { ttlMs: 60_000, label: "default" });
    const lock = await clock.until(redlock.acquire("r", { ttlMs: 1000, label: "special" }));
    expect(lock.remainingMs()).toBe(988);
    expect(lock.owner).toMatch(/^special:/);
    expect((await clock.until(redlock.acquire("s"))).owner).toMatch(/^default:/);
  });

  it("acquire() does not reuse options of an earlier call, even if its own are undefined", async () => {
    const { redlock, clock } = world(3);
    await clock.until(redlock.acquire("a", { ttlMs: 60_000 }));
    const lock = await clock.until(redlock.acquire("b", { signal: undefined }));
    expect(lock.remainingMs()).toBeLessThan(10_000);
    const controller = new AbortController();
    await clock.until(redlock.acquire("c", { signal: controller.signal }));
    controller.abort(new Error("of another call"));
    await clock.until(redlock.acquire("d", { ttlMs: undefined }));
  });
});
