import { Redlock, type RedlockOptions } from "@holdfast/core";
import { describe, expect, it, vi } from "vitest";
import { world } from "../world.ts";

/** A world of nodes that verify their servers. */
function verifying(options: RedlockOptions = {}) {
  const it = world(3);
  for (const each of it.nodes) Object.assign(each, { verifiesServer: true });
  return { ...it, redlock: new Redlock(it.nodes, { clock: it.clock, nodeTimeoutMs: 50, ...options }) };
}

describe("the first lock", () => {
  it("acquire() waits for all nodes before it grants the first lock if nodes verify their servers", async () => {
    const { clock, node, heldOn, redlock } = verifying();
    const misconfigured = Object.assign(new Error("the same server as a"), { code: "MISCONFIGURED" });
    node("c").fault = ({ method }) => (method === "acquire" ? { replyMs: 20, reject: misconfigured } : undefined);
    await expect(clock.until(redlock.acquire("r"))).rejects.toMatchObject({ code: "MISCONFIGURED" });
    await clock.until(redlock.close());
    expect(await heldOn("r")).toEqual([]);
  });

  it("acquire() waits for the last node only once, and no longer than the node timeout", async () => {
    const { clock, node, redlock } = verifying();
    node("c").fault = () => ({ lose: "request" });
    await clock.until(redlock.acquire("r"));
    expect(clock.monotonicMs()).toBe(50);
    await redlock.acquire("s");
    expect(clock.monotonicMs()).toBe(50);
  });

  it("acquire() waits no longer than the default node timeout, and then settles all waiting attempts", async () => {
    const { clock, node, redlock } = verifying({ ttlMs: 1_000, nodeTimeoutMs: 900 });
    node("c").fault = () => ({ lose: "request" });
    const first = redlock.acquire("r");
    await clock.advance(30);
    const second = redlock.acquire("s");
    await clock.until(Promise.all([first, second]));
    expect(clock.monotonicMs()).toBe(50);
  });

  it.each(["acquire", "tryAcquire", "using"] as const)(
    "%s() rejects if it is aborted while it waits",
    async (method) => {
      const { clock, node, heldOn, redlock } = verifying();
      node("c").fault = () => ({ lose: "request" });
      const controller = new AbortController();
      const routine = vi.fn();
      const call = redlock[method]("r", { signal: controller.signal }, routine);
      await clock.advance(20);
      controller.abort(new Error("enough"));
      await expect(clock.until(call)).rejects.toThrow("enough");
      expect([clock.monotonicMs(), routine.mock.calls]).toEqual([20, []]);
      await clock.advance(0);
      expect(await heldOn("r")).toEqual([]);
      await clock.until(redlock.acquire("r"));
      expect(clock.monotonicMs()).toBe(50); // it still waits for c
    },
  );
});
