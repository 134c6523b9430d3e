import { VirtualClock } from "@holdfast/testkit";
import { describe, expect, it } from "vitest";
import { type MemoryNode, memoryNode } from "../src/index.ts";

interface Terms {
  readonly ttlMs?: number;
  readonly shared?: boolean;
  readonly takeover?: string;
  readonly waiter?: string;
}

/** A node, a clock, and short forms of the requests for one resource. */
function world() {
  const clock = new VirtualClock();
  const node: MemoryNode = memoryNode({ clock });
  const claim = (owner: string, terms: Terms = {}) =>
    node.acquire({ resources: ["r"], owner, ttlMs: 60_000, fenceHint: 1, timeoutMs: 50, ...terms });
  const share = (owner: string, terms: Terms = {}) => claim(owner, { shared: true, ...terms });
  const release = (owner: string) => node.release({ resources: ["r"], owner, timeoutMs: 50 });
  return { clock, node, claim, share, release };
}

describe("memoryNode() with shared claims", () => {
  it.each([false, true])("acquire() excludes at any reading of the clock: shared %s", async (shared) => {
    const node = memoryNode({ clock: { monotonicMs: () => -100, wallMs: () => 0 } });
    const request = { resources: ["r"], ttlMs: 50, fenceHint: 1, timeoutMs: 5 };
    expect(await node.acquire({ ...request, owner: "a", shared })).toMatchObject({ granted: true });
    expect(await node.acquire({ ...request, owner: "b" })).toMatchObject({ granted: false, holder: "a" });
    expect(await node.inspect("r")).toMatchObject({ owner: "a", remainingMs: 50 });
  });

  it("acquire() lets sharers join with the same fence, and keeps exclusive claims out until the last one ends", async () => {
    const { claim, share, release } = world();
    expect(await share("a")).toEqual({ granted: true, fence: 1 });
    expect(await share("b")).toEqual({ granted: true, fence: 1 });
    expect(await claim("x")).toMatchObject({ granted: false, heldResources: ["r"] });
    await release("a");
    expect(await claim("x")).toMatchObject({ granted: false, holder: "b" });
    await release("b");
    expect(await claim("x")).toEqual({ granted: true, fence: 2 });
    expect(await share("a")).toMatchObject({ granted: false, holder: "x" });
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

  it("acquire() keeps a hand-over between sharers from passing an exclusive waiter", async () => {
    const { claim, share } = world();
    await share("a");
    await claim("x", { waiter: "w" });
    expect(await share("b", { takeover: "a" })).toMatchObject({ granted: false });
    expect(await claim("b", { takeover: "a" })).toMatchObject({ granted: true });
  });

  it("acquire() lets all sharers in once an exclusive waiter had its turn", async () => {
    const { claim, share, release } = world();
    await share("a");
    await claim("x", { waiter: "w" });
    await release("a");
    await claim("x", { waiter: "w" });
    await release("x");
    for (const owner of ["a", "b", "c"]) expect(await share(owner)).toMatchObject({ granted: true, fence: 3 });
  });

  it("release() names all waiting sharers together, and after them one exclusive waiter", async () => {
    const { node, claim, share, release } = world();
    const named: (string | undefined)[] = [];
    await node.watch(["r"], (_, next) => named.push(next));
    await claim("x");
    await claim("y", { waiter: "w" });
    await claim("z", { waiter: "v" });
    await share("b", { waiter: "w" });
    await share("a", { waiter: "u" });
    expect(await release("x")).toEqual({ released: true, next: "u" });
    await share("a", { waiter: "u" });
    await share("b", { waiter: "w" });
    await claim("x");
    expect(await release("a")).toEqual({ released: true });
    expect(await release("b")).toEqual({ released: true, next: "v" });
    await claim("z", { waiter: "v" });
    expect(await release("z")).toEqual({ released: true, next: "w" });
    await claim("y", { waiter: "w" });
    expect(await release("y")).toEqual({ released: true });
    expect(named).toEqual(["u", "w", "v", "w", undefined]);
  });
});
