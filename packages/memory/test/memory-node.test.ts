import { VirtualClock } from "@holdfast/testkit";
import { describe, expect, it } from "vitest";
import { memoryNode } from "../src/index.ts";

const dayMs = 24 * 60 * 60 * 1000;

function claim(resource: string, ttlMs = 1000) {
  return { resources: [resource], owner: `owner of ${resource}`, ttlMs, fenceHint: 1, timeoutMs: 50 };
}

describe("memoryNode()", () => {
  it("memoryNode() gives each node a different default name", () => {
    const names = [memoryNode(), memoryNode(), memoryNode({ name: "mine" })].map(({ name }) => name);
    expect(new Set(names).size).toBe(3);
    expect(names[2]).toBe("mine");
  });

  it.each([
    [Number.NaN, RangeError],
    [-1, RangeError],
    ["1" as never, TypeError],
  ])("memoryNode() refuses a fenceTtlMs of %s", (fenceTtlMs, error) => {
    expect(() => memoryNode({ fenceTtlMs })).toThrow(error);
  });

  it("acquire() rejects when the fence counter would exceed the safe integers", async () => {
    const clock = new VirtualClock(8.64e15);
    const node = memoryNode({ clock });
    await node.acquire({ ...claim("r"), fenceHint: Number.MAX_SAFE_INTEGER });
    await node.release(claim("r"));
    await expect(node.acquire(claim("r"))).rejects.toThrow("the fence counter of r is used up");
  });

  it.each([9, 10])(
    "acquire() never denies with a negative wait when a claim of %i ms ends during the call",
    async (ttlMs) => {
      let readings = 0;
      const node = memoryNode({ clock: { monotonicMs: () => readings++, wallMs: () => 0 } });
      await node.acquire(claim("r", ttlMs));
      for (let calls = 0; calls < ttlMs; calls++) {
        const reply = await node.acquire({ ...claim("r", ttlMs), owner: "another owner" });
        if (reply.granted) return;
        expect(reply.retryAfterMs).toBeGreaterThan(0);
      }
      expect.unreachable("the claim did not end");
    },
  );

  it("acquire() claims 130 000 resources at once", async () => {
    const node = memoryNode();
    const resources = Array.from({ length: 130_000 }, (_, index) => `seat ${index}`);
    const request = { resources, owner: "alice", ttlMs: 10_000, fenceHint: 1, timeoutMs: 50 };
    expect(await node.acquire(request)).toEqual({ granted: true, fence: 1, uniform: true });
  });

  it("release() names a waiter that asked within the last ten seconds, and no others", async () => {
    const clock = new VirtualClock();
    const node = memoryNode({ clock });
    const waiting = { ...claim("r"), owner: "another owner", waiter: "w" };
    const hold = () => node.acquire(claim("r", dayMs));
    await hold();
    await node.acquire(waiting);
    await clock.advance(9_999);
    await node.acquire(waiting);
    await clock.advance(9_999);
    expect(await node.release(claim("r"))).toEqual({ released: true, next: "w" });
    await hold();
    await node.acquire(waiting);
    await clock.advance(10_000);
    expect(await node.release(claim("r"))).toEqual({ released: true });
  });

  it("memoryNode() keeps a fence counter for fenceTtlMs after its claim, and forgets it some time later", async () => {
    const clock = new VirtualClock();
    const node = memoryNode({ clock });
    await node.acquire({ ...claim("old"), fenceHint: 77 });
    await clock.advance(1000 + dayMs - 1);
    for (let other = 0; other < 10; other++) await node.acquire(claim(`other ${other}`));
    expect((await node.inspect("old")).fence).toBe(77);
    await clock.advance(1);
    for (let other = 0; other < 10; other++) await node.acquire(claim(`another ${other}`));
    expect((await node.inspect("old")).fence).toBe(0);
  });

  it("memoryNode() forgets other counters while one claim is kept for long", async () => {
    const clock = new VirtualClock();
    const node = memoryNode({ clock, fenceTtlMs: 0 });
    await node.acquire(claim("kept", 365 * dayMs));
    for (let other = 0; other < 10; other++) await node.acquire(claim(`other ${other}`));
    await clock.advance(dayMs);
    for (let other = 0; other < 20; other++) await node.acquire(claim(`another ${other}`));
    expect((await node.inspect("other 0")).fence).toBe(0);
    expect((await node.inspect("kept")).owner).toBe("owner of kept");
  });
});
