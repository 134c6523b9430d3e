import { describe, expect, it } from "vitest";
import { mortalNode } from "../src/world.ts";

const request = { resources: ["a"], owner: "me", timeoutMs: 50, ttlMs: 60_000, fenceHint: 1 };

describe("mortalNode()", () => {
  it("mortalNode() works like a memory node, fails while it is dead, and comes back empty", async () => {
    const node = mortalNode("n1");
    expect(node.name).toBe("n1");
    expect(await node.acquire(request)).toMatchObject({ granted: true });
    expect(await node.acquire({ ...request, owner: "you" })).toMatchObject({ granted: false });
    node.kill();
    await expect(node.acquire(request)).rejects.toThrow("connection refused");
    await expect(node.inspect?.("a")).rejects.toThrow("connection refused");
    await expect(node.release(request)).rejects.toThrow("connection refused");
    node.restart();
    expect(await node.inspect?.("a")).toEqual({ owner: null, remainingMs: null, fence: 0 });
  });
});
