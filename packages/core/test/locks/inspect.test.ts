import { describe, expect, it } from "vitest";
import { claimOf, world } from "../world.ts";

describe("inspect()", () => {
  it("inspect() returns the holder, its label, and how long a quorum will keep the claim", async () => {
    const { redlock, clock, node } = world(5);
    const lock = await redlock.acquire("r", { label: "worker-7" });
    await clock.advance(1000);
    node("e").fault = () => ({ lose: "request" });
    const inspection = await clock.until(redlock.inspect("r"));
    expect(inspection).toMatchObject({
      resource: "r",
      state: "held",
      owner: lock.owner,
      label: "worker-7",
      remainingMs: 9000,
      fence: lock.fence,
    });
    expect(inspection.nodes[0]).toEqual({
      node: "a",
      view: { owner: lock.owner, remainingMs: 9000, fence: lock.fence },
      error: null,
    });
    expect(inspection.nodes[4]).toMatchObject({ node: "e", error: { code: "NODE_TIMEOUT" } });
  });

  it("inspect() returns free when no owner can have a quorum", async () => {
    const { redlock, clock, inner, node } = world(5);
    expect(await clock.until(redlock.inspect("r"))).toMatchObject({ state: "free", owner: null, fence: 0 });
    await inner[0]?.acquire(claimOf("x", "r"));
    await inner[1]?.acquire(claimOf("y", "r"));
    node("e").fault = () => ({ reject: new Error("down") });
    expect(await clock.until(redlock.inspect("r"))).toMatchObject({ state: "free", remainingMs: null });
  });

  it("inspect() returns unknown when the missing replies could decide", async () => {
    const { redlock, clock, nodes, inner } = world(5);
    await inner[0]?.acquire(claimOf("x", "r"));
    for (const each of nodes.slice(3)) each.fault = () => ({ reject: new Error("down") });
    expect(await clock.until(redlock.inspect("r"))).toMatchObject({ state: "unknown", owner: null });
  });

  it("inspect() counts a node without inspect(), or with an invalid reply, as failed", async () => {
    const { redlock, clock, node } = world(3);
    await redlock.acquire("r");
    node("a").inspect = undefined as never;
    node("b").fault = () => ({ answer: { owner: 7, remainingMs: null, fence: 0 } });
    const { state, nodes } = await clock.until(redlock.inspect("r"));
    expect(state).toBe("unknown");
    expect(nodes.map(({ error }) => error?.message ?? "ok")).toEqual([
      "does not implement inspect()",
      "answered inspect() with { owner: 7, remainingMs: null, fence: 0 }",
      "ok",
    ]);
  });

  it("inspect() settles by the node timeout when every node hangs", async () => {
    const { redlock, clock, nodes } = world(3);
    for (const each of nodes) each.fault = () => ({ lose: "request" });
    expect(await clock.until(redlock.inspect("r"))).toMatchObject({ state: "unknown" });
    expect(clock.monotonicMs()).toBe(50);
    expect(clock.pendingTimers).toBe(0);
  });
});
