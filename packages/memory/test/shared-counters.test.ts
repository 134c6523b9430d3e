import { VirtualClock } from "@holdfast/testkit";
import { describe, expect, it } from "vitest";
import { memoryNode } from "../src/index.ts";

const timeoutMs = 50;
const dayMs = 24 * 60 * 60 * 1000;

/** A node whose resources share counters, and short forms of its requests. */
function world(counters: number) {
  const clock = new VirtualClock();
  const node = memoryNode({ clock, counters });
  const claim = async (resource: string, fenceHint = 1) => {
    const owner = `owner of ${resource}`;
    const reply = await node.acquire({ resources: [resource], owner, ttlMs: 1_000, fenceHint, timeoutMs });
    return reply.granted ? reply.fence : undefined;
  };
  const extend = (resource: string, fence: number) => {
    const owner = `owner of ${resource}`;
    return node.extend({ resources: [resource], owner, ttlMs: 1_000, fence, rejoin: false, timeoutMs });
  };
  const raise = (floor: number, epoch = 0) => node.raiseFloor({ floor, epoch, timeoutMs });
  return { clock, node, claim, extend, raise };
}

describe("memoryNode() with counters", () => {
  it.each([
    [0, RangeError],
    [-1, RangeError],
    [1.5, RangeError],
    [16_385, RangeError],
    [Number.NaN, RangeError],
    ["1" as never, TypeError],
  ])("memoryNode() refuses counters of %s", (counters, error) => {
    expect(() => memoryNode({ counters })).toThrow(error);
  });

  it("acquire() advances the one counter of all resources", async () => {
    const { node, claim, extend } = world(1);
    expect([await claim("a"), await claim("b"), await claim("c", 100)]).toEqual([1, 2, 100]);
    expect(await claim("a"), "a repeated grant").toBe(100);
    expect(await extend("b", 7)).toEqual({ held: true, fence: 100 });
    expect(await extend("b", 200)).toEqual({ held: true, fence: 200 });
    expect(await node.inspect("never claimed")).toEqual({ owner: null, remainingMs: null, fence: 200 });
  });

  it("acquire() gives each name the same counter whenever it is claimed, and uses all of them", async () => {
    const { node, claim } = world(3);
    for (let index = 0; index < 30; index++) await claim(`r${index}`, 1_000 * index);
    const fences = await Promise.all(Array.from({ length: 30 }, (_, index) => node.inspect(`r${index}`)));
    expect(new Set(fences.map(({ fence }) => fence)).size).toBe(3);
  });

  it("the counters are kept forever, and claims are forgotten", async () => {
    const { clock, node, claim } = world(2);
    for (let index = 0; index < 50; index++) await claim(`r${index}`, 500);
    const { fence } = await node.inspect("r1");
    await clock.advance(400 * dayMs);
    for (let index = 50; index < 100; index++) await claim(`r${index}`);
    expect(await claim("r1")).toBeGreaterThan(fence);
  });

  it("raiseFloor() raises all counters, absent ones included, and resolves with the lowest", async () => {
    const { node, claim, extend, raise } = world(3);
    await claim("a", 10);
    await claim("b", 300);
    expect(await raise(0)).toEqual({ floor: 0, epoch: 0 });
    expect(await raise(100, 1)).toEqual({ floor: 100, epoch: 1 });
    expect(await extend("a", 1)).toMatchObject({ held: true });
    for (let index = 0; index < 10; index++) {
      expect(await node.inspect(`never claimed ${index}`)).not.toHaveProperty("floor");
      expect((await node.inspect(`never claimed ${index}`)).fence).toBeGreaterThanOrEqual(100);
    }
    for (let index = 0; index < 10; index++) await claim(`grown ${index}`, 400);
    expect((await raise(0)).floor, "once each counter has grown").toBeGreaterThanOrEqual(400);
  });

  it("scan() reads the counters in portions before the claims, or alone", async () => {
    const { node, claim, raise } = world(2_500);
    await raise(7);
    await claim("r", 50);
    const read = async (claims: boolean, cursor?: string): Promise<[counters: number, claims: number][]> => {
      const portion = await node.scan({ timeoutMs, claims, ...(cursor !== undefined && { cursor }) });
      const rest = portion.cursor === undefined ? [] : await read(claims, portion.cursor);
      return [[portion.counters, portion.claims.length], ...rest];
    };
    const counters = [
      [1_000, 0],
      [1_000, 0],
      [500, 0],
    ];
    expect(await read(false)).toEqual(counters);
    expect(await read(true)).toEqual([...counters, [0, 1]]);
    await expect(node.scan({ timeoutMs, cursor: "counters-0:0:1" })).rejects.toThrow("has not made the cursor");
  });
});
