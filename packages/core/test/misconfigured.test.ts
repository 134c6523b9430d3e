import { ConfigurationError } from "@holdfast/core";
import { describe, expect, it } from "vitest";
import { claimOf, world } from "./world.ts";

const hopeless = new ConfigurationError("is the same server as a", ["r"]);

/** Five nodes, of which b says that trying is of no use. */
function worldWithout(error: Error) {
  const five = world(5);
  five.node("b").fault = ({ method }) => (method === "acquire" ? { reject: error } : undefined);
  return five;
}

describe("a node that rejects with a ConfigurationError", () => {
  it("acquire() ends at once, says why, and leaves no claim", async () => {
    const { redlock, clock, heldOn, events } = worldWithout(hopeless);
    const error = await redlock.acquire("r").catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(ConfigurationError);
    expect(error).toMatchObject({ code: "MISCONFIGURED", resources: ["r"] });
    expect((error as Error).message).toContain("b failed: is the same server as a");
    expect((error as ConfigurationError).outcomes[1]).toEqual({ node: "b", kind: "failed", error: hopeless });
    expect(clock.monotonicMs()).toBe(0);
    await clock.advance(0);
    expect(await heldOn("r")).toEqual([]);
    expect(clock.pendingTimers).toBe(0);
    expect(events).toContainEqual([
      "attemptSettled",
      expect.objectContaining({ resources: ["r"], outcome: "misconfigured" }),
    ]);
  });

  it("tryAcquire() rejects, also where another owner is in the way", async () => {
    const { redlock, inner } = worldWithout(hopeless);
    for (const node of inner) await node.acquire(claimOf("rival", "r"));
    await expect(redlock.tryAcquire("r")).rejects.toBeInstanceOf(ConfigurationError);
  });

  it("acquire() knows the error of another copy of this package by its code", async () => {
    const { redlock } = worldWithout(Object.assign(new Error("not like this"), { code: "MISCONFIGURED" }));
    await expect(redlock.acquire("r")).rejects.toBeInstanceOf(ConfigurationError);
  });

  it("acquire() gives all nodes of one attempt the same request object, by which adapters tell that they are together", async () => {
    const { redlock, nodes } = world(3);
    await (await redlock.acquire("r")).release();
    await redlock.acquire("r");
    const [a, b, c] = nodes.map((node) => node.callsOf("acquire").map(({ request }) => request));
    expect(a?.[0]).not.toBe(a?.[1]);
    for (const others of [b, c]) for (const attempt of [0, 1]) expect(others?.[attempt]).toBe(a?.[attempt]);
  });

  it("extend() takes it for a failure of that node", async () => {
    const { redlock, clock, node } = world(3);
    const lock = await redlock.acquire("r");
    node("b").fault = () => ({ reject: hopeless });
    await clock.until(lock.extend());
    expect(lock.remainingMs()).toBeGreaterThan(9_000);
  });
});
