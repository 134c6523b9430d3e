import { VirtualClock } from "@holdfast/testkit";
import { describe, expect, it } from "vitest";
import { memoryNode } from "../src/index.ts";

const timeoutMs = 50;

/** A node, a clock, and short forms of its requests. */
function world(fenceTtlMs?: number) {
  const clock = new VirtualClock();
  const node = memoryNode({ clock, fenceTtlMs });
  const claim = (resource: string, terms: { owner?: string; epoch?: number; fenceHint?: number } = {}) =>
    node.acquire({
      resources: [resource],
      owner: `owner of ${resource}`,
      ttlMs: 1_000,
      fenceHint: 1,
      timeoutMs,
      ...terms,
    });
  const release = (resource: string) =>
    node.release({ resources: [resource], owner: `owner of ${resource}`, timeoutMs });
  const scan = (cursor?: string) => node.scan({ timeoutMs, ...(cursor !== undefined && { cursor }) });
  /** Reads all portions, and returns the resources of their claims. */
  const scanAll = async (cursor?: string): Promise<string[]> => {
    const portion = await scan(cursor);
    const read = portion.claims.map(({ resource }) => resource);
    return portion.cursor === undefined ? read : [...read, ...(await scanAll(portion.cursor))];
  };
  return { clock, node, claim, release, scan, scanAll };
}

/** The names of some resources, in order. */
function names(count: number, kind = "r"): string[] {
  return Array.from({ length: count }, (_, index) => `${kind} ${String(index).padStart(5, "0")}`);
}

describe("scan()", () => {
  it("scan() reads a thousand entries a portion, in the order in which they were added", async () => {
    const { claim, scan, scanAll } = world();
    const all = names(2_000);
    for (const name of all) await claim(name);
    const first = await scan();
    expect(first.claims.map(({ resource }) => resource)).toEqual(all.slice(0, 1_000));
    const second = await scan(first.cursor);
    expect({ counters: second.counters, cursor: second.cursor }).toEqual({ counters: 1_000, cursor: undefined });
    expect(await scanAll()).toEqual(all);
  });

  it("scan() ends although entries are added between its portions, and reads each portion again", async () => {
    const { claim, scan } = world();
    for (const name of names(2_500)) await claim(name);
    let cursor = (await scan()).cursor;
    for (let portions = 1; cursor !== undefined; portions++) {
      expect(portions).toBeLessThan(3);
      for (const name of names(1_500, `new ${portions}`)) await claim(name);
      const portion = await scan(cursor);
      expect(await scan(cursor)).toEqual(portion);
      expect(portion.claims.every(({ resource }) => resource.startsWith("r "))).toBe(true);
      cursor = portion.cursor;
    }
  });

  it("scan() reads what lasts, whatever is forgotten and added again between its portions", async () => {
    const { clock, node, claim, scan, scanAll } = world(0);
    const all = names(3_000);
    const brief = names(3_000, "brief");
    for (const [index, name] of all.entries()) {
      await node.acquire({ resources: [name], owner: "kept", ttlMs: 1_000_000, fenceHint: 1, timeoutMs });
      await claim(brief[index] as string);
    }
    const first = await scan();
    await clock.advance(1_000);
    // Each claim forgets up to two entries that have ended, so this visits all of them.
    for (const name of names(6_000, "later")) await claim(name);
    for (const name of brief) await claim(name);
    const read = [...first.claims.map(({ resource }) => resource), ...(await scanAll(first.cursor))];
    expect(read.filter((name) => name.startsWith("r "))).toEqual(all);
  });

  it("scan() rejects the cursors of another node", async () => {
    const [one, other] = [world(), world()];
    for (const { claim } of [one, other]) for (const name of names(1_001)) await claim(name);
    const { cursor } = await one.scan();
    await expect(other.scan(cursor)).rejects.toThrow("this node has not made the cursor of the scan");
    expect(await one.scanAll(cursor)).toHaveLength(1);
  });

  it("scan() continues any number of series at a time", async () => {
    const { claim, scan, scanAll } = world();
    for (const name of names(1_500)) await claim(name);
    const cursors = await Promise.all(Array.from({ length: 100 }, async () => (await scan()).cursor));
    for (const cursor of cursors) expect(await scanAll(cursor)).toHaveLength(500);
  });
});
