import { Redlock } from "@holdfast/core";
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

describe("health()", () => {
  it("health() is ok while a quorum of the nodes replies, and says why the others do not", async () => {
    const { redlock, clock, node, nodes } = world(3);
    const up = ["a", "b", "c"].map((name) => ({ name, ok: true }));
    expect(await clock.until(redlock.health())).toEqual({ ok: true, reachable: 3, quorum: 2, nodes: up });
    node("b").fault = () => ({ lose: "request" });
    const timedOut = { name: "b", ok: false, error: "timed out after 50 ms" };
    expect(await clock.until(redlock.health())).toEqual({
      ok: true,
      reachable: 2,
      quorum: 2,
      nodes: [up[0], timedOut, up[2]],
    });
    expect(clock.monotonicMs()).toBe(50);
    node("c").fault = () => ({ reject: new Error("down") });
    const down = { name: "c", ok: false, error: "down" };
    expect(await clock.until(redlock.health())).toEqual({
      ok: false,
      reachable: 1,
      quorum: 2,
      nodes: [up[0], timedOut, down],
    });
    expect(new Set(nodes.flatMap(({ calls }) => calls.map(({ method }) => method)))).toEqual(new Set(["inspect"]));
    node("c").fault = () => ({ reject: Object.assign(new AggregateError([]), { code: "ECONNREFUSED" }) });
    expect((await clock.until(redlock.health())).nodes[2]).toEqual({ ...down, error: "ECONNREFUSED" });
    await clock.until(redlock.close());
    await expect(redlock.health()).rejects.toMatchObject({ code: "CLOSED" });
  });

  it("health() does not count a node that does not vote yet after a restart, and inspects the given name", async () => {
    const { redlock, clock, node } = world(1);
    const view = { owner: null, remainingMs: null, fence: 0, recoveringMs: 1_500 };
    node("a").fault = ({ request }) => (request.resources[0] === "orders" ? { answer: view } : undefined);
    const error = "recovering from a restart, 1500 ms left";
    expect(await clock.until(redlock.health("orders"))).toMatchObject({ ok: false, nodes: [{ ok: false, error }] });
    expect(await clock.until(redlock.health())).toMatchObject({ ok: true });
  });

  it("health() needs a quorum of each set while servers change", async () => {
    const { clock, nodes } = world(4);
    const redlock = new Redlock({ old: nodes.slice(0, 1), new: nodes.slice(1) }, { clock });
    expect(await clock.until(redlock.health())).toMatchObject({ ok: true, reachable: 4, quorum: 2 });
    for (const each of nodes.slice(2)) each.fault = () => ({ reject: new Error("down") });
    expect(await clock.until(redlock.health())).toMatchObject({ ok: false, reachable: 2, quorum: 2 });
  });
});
