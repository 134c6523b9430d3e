import { VirtualClock } from "@holdfast/testkit";
import { describe, expect, it } from "vitest";
import { memoryNode } from "../src/index.ts";

const dayMs = 24 * 60 * 60 * 1000;

function claim(resource: string, ttlMs = 1000) {
  return { resources: [resource], owner: `owner of ${resource}`, ttlMs, fenceHint: 1, timeoutMs: 50 };
}

describe("memoryNode()", () => {
  it("memoryNode() names its nodes apart unless told", () => {
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

  it("acquire() refuses to count beyond the safe integers, as a failure", async () => {
    const clock = new VirtualClock(8.64e15);
    const node = memoryNode({ clock });
    await node.acquire({ ...claim("r"), fenceHint: Number.MAX_SAFE_INTEGER });
    await node.release(claim("r"));
    await expect(node.acquire(claim("r"))).rejects.toThrow("the fence counter of r is used up");
  });

  it.each([9, 10])("acquire() never denies by a claim of %i ms that ends while it looks", async (ttlMs) => {
    let readings = 0;
    const node = memoryNode({ clock: { monotonicMs: () => readings++, wallMs: () => 0 } });
    await node.acquire(claim("r", ttlMs));
    for (let calls = 0; calls < ttlMs; calls++) {
      const reply = await node.acquire({ ...claim("r", ttlMs), owner: "another owner" });
      if (reply.granted) return;
      expect(reply.retryAfterMs).toBeGreaterThan(0);
    }
    expect.unreachable("the claim did not end");
  });

  it("release() names who asked for the resource within ten seconds before, and nobody later", async () => {
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

  it("release() that names somebody puts its waiter behind who came at the same time, whatever their names", async () => {
    const node = memoryNode();
    await node.acquire(claim("r"));
    for (const waiter of ["y", "z"]) await node.acquire({ ...claim("r"), owner: waiter, waiter });
    expect(await node.release({ ...claim("r"), waiter: "a" })).toMatchObject({ next: "y" });
    await node.acquire(claim("r"));
    expect(await node.release(claim("r"))).toMatchObject({ next: "z" });
    await node.acquire(claim("r"));
    expect(await node.release(claim("r"))).toMatchObject({ next: "a" });
  });

  it("a fence counter outlives its claim by fenceTtlMs, and is forgotten some time later", async () => {
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

  it("a claim that is kept long does not keep other counters from being forgotten", async () => {
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
