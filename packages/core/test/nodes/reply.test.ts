import { InvalidReplyError, QuorumUnreachableError } from "@holdfast/core";
import { describe, expect, it } from "vitest";
import { held, world } from "../world.ts";

const invalidReplies: [string, unknown][] = [
  ["undefined", undefined],
  ["null", null],
  ["a string", "OK"],
  ["a number", 1],
  ["true", true],
  ["an empty object", {}],
  ["a grant without a fence", { granted: true }],
  ["a grant with a fence of 0", { granted: true, fence: 0 }],
  ["a grant with a negative fence", { granted: true, fence: -5 }],
  ["a grant with a fractional fence", { granted: true, fence: 1.5 }],
  ["a grant with an unsafe fence", { granted: true, fence: 2 ** 53 }],
  ["a grant with a fence that leaves no more", { granted: true, fence: Number.MAX_SAFE_INTEGER }],
  ["a grant with a fence of NaN", { granted: true, fence: Number.NaN }],
  ["a grant with a string for a fence", { granted: true, fence: "7" }],
  ["a grant with a bigint for a fence", { granted: true, fence: 7n }],
  ["a truthy grant", { granted: 1, fence: 7 }],
  ["a denial with a negative wait", { granted: false, retryAfterMs: -1 }],
  ["a denial with a wait of NaN", { granted: false, retryAfterMs: Number.NaN }],
  [
    "an object that cannot be read",
    new Proxy(
      {},
      {
        get(_, key) {
          if (key === "then") return undefined;
          throw new Error("trap");
        },
      },
    ),
  ],
];

describe("replies are validated (S12)", () => {
  it.each(invalidReplies)("acquire() counts %s as a failure of that node, with a clear error", async (_, answer) => {
    const { redlock, clock, nodes } = world(3, { waitTimeoutMs: 0 });
    for (const node of nodes) node.fault = ({ method }) => (method === "acquire" ? { answer } : undefined);
    const error = await clock.until(redlock.acquire("r").catch((reason: unknown) => reason));
    expect(error).toBeInstanceOf(QuorumUnreachableError);
    expect((error as Error).message).toContain("a failed: ");
  });

  it.each([
    ["an Error whose message is no string", Object.assign(new Error(), { message: Symbol("odd") })],
    ["an object of another realm", { name: "Error", message: "from elsewhere" }],
    ["a revoked proxy", revoked()],
  ])("acquire() and extend() count a rejection with %s as a failure of that node", async (_, reason) => {
    const { lock, redlock, clock, nodes } = await held(3, { waitTimeoutMs: 0 });
    for (const node of nodes) node.fault = () => ({ reject: reason });
    await expect(clock.until(redlock.acquire("s"))).rejects.toBeInstanceOf(QuorumUnreachableError);
    await expect(clock.until(lock.extend())).rejects.toMatchObject({ reason: "unreachable" });
    expect(lock.signal.aborted).toBe(true);
  });

  it("acquire() names a node with an invalid reply, and describes the reply", async () => {
    const { redlock, clock, nodes } = world(3, { waitTimeoutMs: 0 });
    for (const node of nodes) node.fault = () => ({ answer: { granted: "yes" } });
    const error = await clock.until(redlock.acquire("r").catch((reason: unknown) => reason));
    expect((error as Error).message).toContain("a failed: answered acquire() with { granted: a string }");
    expect((error as QuorumUnreachableError).outcomes[0]).toMatchObject({ node: "a", kind: "failed" });
    const [outcome] = (error as QuorumUnreachableError).outcomes;
    expect(outcome?.error).toBeInstanceOf(InvalidReplyError);
  });

  it("acquire() succeeds with a quorum of nodes that reply correctly", async () => {
    const { redlock, clock, nodes } = world(5);
    for (const node of nodes.slice(0, 2)) node.fault = () => ({ answer: { granted: true, fence: "9".repeat(20) } });
    const lock = await clock.until(redlock.acquire("r"));
    await clock.until(lock.extend());
    await clock.until(lock.release());
  });

  it.each([
    ["held with a fence below the lock's own", { held: true, fence: 1 }],
    ["held without a fence", { held: true }],
    ["held by a truthy value", { held: 1, fence: 2 ** 52 }],
    ["not held, with a fence", { held: false, fence: 2 ** 52 }],
    ["not held, without saying whether it rejoined", { held: false }],
    ["held by a truthy value and rejoined", { held: 1, rejoined: true }],
    ["true", true],
  ])("extend() counts %s as a failure", async (_, answer) => {
    const { lock, clock, nodes, events } = await held(3);
    for (const node of nodes) node.fault = ({ method }) => (method === "extend" ? { answer } : undefined);
    await expect(clock.until(lock.extend())).rejects.toMatchObject({ reason: "unreachable" });
    expect(events.filter(([name]) => name === "nodeFailed").length).toBeGreaterThan(0);
  });

  it("release() counts an invalid reply as a failure", async () => {
    const { lock, clock, nodes } = await held(3);
    for (const node of nodes) node.fault = () => ({ answer: 1 });
    await expect(clock.until(lock.release())).rejects.toThrow("a failed: answered release() with 1");
  });

  it("acquire() is not affected when an adapter mutates a reply later", async () => {
    const { redlock, clock, nodes, node } = world(3);
    const shared = { granted: true, fence: 5 };
    for (const node of nodes) {
      node.fault = ({ method }) => (method === "acquire" ? { answer: shared } : undefined);
    }
    node("b").fault = ({ method }) => (method === "acquire" ? { answer: shared, replyMs: 10 } : undefined);
    node("c").fault = ({ method }) => (method === "acquire" ? { lose: "request" } : undefined);
    const pending = redlock.acquire("r");
    await clock.advance(5);
    shared.granted = false;
    await clock.advance(4);
    shared.granted = true;
    expect((await clock.until(pending)).fence).toBe(5);
  });

  it("acquire() freezes the request and the resources, so that an adapter cannot change them", async () => {
    const { redlock, clock, node } = world(3);
    const lock = await clock.until(redlock.acquire(["x", "y"]));
    const { request } = node("a").callsOf("acquire")[0] as { request: object };
    expect(Object.isFrozen(request)).toBe(true);
    expect(Object.isFrozen(lock.resources)).toBe(true);
  });
});

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}
