import { ConfigurationError } from "@holdfast/core";
import { describe, expect, it } from "vitest";
import { claimOf, held, steal, world } from "../world.ts";

const hopeless = new ConfigurationError("is the same server as a", ["r"]);

/** Five nodes, of which b rejects acquire with this error. */
function worldWithout(error: Error) {
  const five = world(5);
  five.node("b").fault = ({ method }) => (method === "acquire" ? { reject: error } : undefined);
  return five;
}

describe("a node that rejects with a ConfigurationError", () => {
  it("acquire() rejects immediately with the reason, and leaves no claim", async () => {
    const { redlock, clock, events, expectNothingLeft } = worldWithout(hopeless);
    const error = await redlock.acquire("r").catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(ConfigurationError);
    expect(error).toMatchObject({ code: "MISCONFIGURED", resources: ["r"] });
    expect((error as Error).message).toContain("b failed: is the same server as a");
    expect((error as ConfigurationError).outcomes[1]).toEqual({ node: "b", kind: "failed", error: hopeless });
    expect(clock.monotonicMs()).toBe(0);
    await clock.advance(0);
    await expectNothingLeft();
    expect(events).toContainEqual([
      "attemptSettled",
      expect.objectContaining({ resources: ["r"], outcome: "misconfigured" }),
    ]);
  });

  it("tryAcquire() rejects even if another owner holds the resource", async () => {
    const { redlock, inner } = worldWithout(hopeless);
    for (const node of inner) await node.acquire(claimOf("other", "r"));
    await expect(redlock.tryAcquire("r")).rejects.toBeInstanceOf(ConfigurationError);
  });

  it("acquire() recognises the error of another copy of this package by its code", async () => {
    const { redlock } = worldWithout(Object.assign(new Error("not like this"), { code: "MISCONFIGURED" }));
    await expect(redlock.acquire("r")).rejects.toBeInstanceOf(ConfigurationError);
  });

  it("extend() rejects immediately with the reason when no quorum is left, and leaves the lock as it was", async () => {
    const { lock, clock, nodes, node, events, heldOn } = await held(3, { autoExtend: false });
    await clock.advance(1_000);
    for (const name of ["a", "c"]) node(name).fault = () => ({ reject: hopeless });
    const error = await lock.extend({ ttlMs: 60_000 }).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(ConfigurationError);
    expect((error as Error).message).toMatch(/^could not keep r: .*; a failed: is the same server as a/);
    expect((error as ConfigurationError).outcomes[0]).toEqual({ node: "a", kind: "failed", error: hopeless });
    expect(clock.monotonicMs()).toBe(1_000);
    expect(lock.signal.aborted).toBe(false);
    expect(lock.remainingMs()).toBeCloseTo(9_898 - 1_000, 3);
    expect(await heldOn("r")).toEqual(["a", "b", "c"]);
    expect(events.map(([name]) => name)).not.toContain("lost");
    for (const each of nodes) each.fault = () => undefined;
    await clock.until(lock.extend());
    await clock.until(lock.release());
    expect(clock.pendingTimers).toBe(0);
  });

  it("extend() still loses a lock that too few nodes hold", async () => {
    const { lock, clock, inner, node } = await held(4);
    await steal(inner.slice(0, 2), "r", lock.owner);
    for (const name of ["c", "d"])
      node(name).fault = ({ method }) => (method === "extend" ? { reject: hopeless } : undefined);
    await expect(clock.until(lock.extend())).rejects.toMatchObject({ code: "LOCK_LOST", reason: "not-held" });
  });

  it("autoExtend is not retried, and the lock ends with its validity and the reason", async () => {
    const { lock, clock, nodes } = await held(3, { autoExtend: true });
    for (const node of nodes) node.fault = ({ method }) => (method === "extend" ? { reject: hopeless } : undefined);
    await clock.advance(9_800);
    expect(lock.signal.aborted).toBe(false);
    expect(nodes.map((node) => node.callsOf("extend").length)).toEqual([1, 1, 1]);
    await clock.advance(100);
    expect(lock.signal.reason).toMatchObject({ code: "LOCK_LOST", reason: "unreachable" });
    expect((lock.signal.reason as Error).message).toContain("a failed: is the same server as a");
    expect(clock.pendingTimers).toBe(0);
  });

  it("autoExtend continues after extend() was refused", async () => {
    const { lock, clock, nodes } = await held(3, { autoExtend: true });
    for (const node of nodes) {
      node.fault = ({ request }) => ((request.ttlMs ?? 0) > 10_000 ? { reject: hopeless } : undefined);
    }
    await expect(lock.extend({ ttlMs: 60_000 })).rejects.toBeInstanceOf(ConfigurationError);
    await clock.advance(60_000);
    expect(lock.remainingMs()).toBeGreaterThan(4_000);
    await clock.until(lock.release());
  });

  it("acquire() treats an error whose code cannot be read as an ordinary failure", async () => {
    const strange = Object.defineProperty(new Error("strange"), "code", {
      get() {
        throw new Error("hostile");
      },
    });
    const { redlock } = worldWithout(strange);
    await (await redlock.acquire("r")).release();
  });

  it("extend() counts it as a failure of that node", async () => {
    const { lock, clock, node } = await held(3);
    node("b").fault = () => ({ reject: hopeless });
    await clock.until(lock.extend());
    expect(lock.remainingMs()).toBeGreaterThan(9_000);
  });
});
