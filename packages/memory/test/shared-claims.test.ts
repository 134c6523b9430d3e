import { VirtualClock } from "@holdfast/testkit";
import { describe, expect, it } from "vitest";
import { type MemoryNode, memoryNode } from "../src/index.ts";

interface Terms {
  readonly ttlMs?: number;
  readonly shared?: boolean;
  readonly waiter?: string;
}

/** A node, a clock, and short forms of the requests for one resource. */
function world() {
  const clock = new VirtualClock();
  const node: MemoryNode = memoryNode({ clock });
  const claim = (owner: string, terms: Terms = {}) =>
    node.acquire({ resources: ["r"], owner, ttlMs: 60_000, fenceHint: 1, timeoutMs: 50, ...terms });
  const share = (owner: string, terms: Terms = {}) => claim(owner, { shared: true, ...terms });
  return { clock, node, claim, share };
}

describe("memoryNode() with shared claims", () => {
  it.each([false, true])("acquire() excludes at any reading of the clock: shared %s", async (shared) => {
    const node = memoryNode({ clock: { monotonicMs: () => -100, wallMs: () => 0 } });
    const request = { resources: ["r"], ttlMs: 50, fenceHint: 1, timeoutMs: 5 };
    expect(await node.acquire({ ...request, owner: "a", shared })).toMatchObject({ granted: true });
    expect(await node.acquire({ ...request, owner: "b" })).toMatchObject({ granted: false, holder: "a" });
    expect(await node.inspect("r")).toMatchObject({ owner: "a", remainingMs: 50 });
  });

  it("acquire() forgets the claims of sharers that are never released, one by one", async () => {
    const { clock, node, share } = world();
    await share("kept", { ttlMs: 1_000_000 });
    for (let sharer = 0; sharer < 1_000; sharer++) {
      await share(`sharer ${sharer}`, { ttlMs: 10 });
      await clock.advance(1);
    }
    const { sharers = [] } = await node.inspect("r");
    expect(sharers.map(({ owner }) => owner)).toEqual([
      "kept",
      ...Array.from({ length: 9 }, (_, index) => `sharer ${999 - index}`),
    ]);
  });

  it("acquire() denies further sharers for a second after an exclusive waiter was denied", async () => {
    const { clock, claim, share } = world();
    await share("a", { ttlMs: 10_000 });
    await claim("x");
    expect(await share("b")).toMatchObject({ granted: true }); // the exclusive request does not wait
    await claim("x", { waiter: "w" });
    await clock.advance(999);
    expect(await share("c")).toEqual({ granted: false, retryAfterMs: 1, holder: "b", heldResources: ["r"] });
    expect(await share("a")).toMatchObject({ granted: true }); // sent again
    await clock.advance(1);
    expect(await share("c")).toMatchObject({ granted: true });
  });
});
