import { memoryNode } from "@holdfast/memory";
import { type CreateNode, type Scenario, simulate } from "@holdfast/simulation";
import { expect, it } from "vitest";

const ttlMs = 1000;

/**
 * Client 2 has the vote of B, and is paused until C, where the claim of client 1 has expired, also grants. Meanwhile B
 * forgets its vote, and a repeated message of client 1 restores its claim on B, where the next extension finds it.
 */
function scenario(seed: number, guardMs: number): Scenario {
  return {
    ...{ seed, nodes: 3, settings: { ttlMs, latencyMs: [1, 2] } },
    clients: [
      { name: "client 1", workers: [[{ by: "using", resources: ["file"], thinkMs: 100, updates: 18 }]] },
      { name: "client 2", workers: [[{ by: "acquire", resources: ["file"], afterMs: 590, thinkMs: 10, updates: 2 }]] },
    ],
    faults: [
      { kind: "partition", clients: ["client 1"], nodes: ["B"], part: "both", atMs: 0, forMs: 510 },
      { kind: "repeated message", client: "client 1", node: "B", message: 2, afterMs: 120 },
      { kind: "partition", clients: ["client 1"], nodes: ["C"], part: "both", atMs: 550, forMs: 3000 },
      { kind: "late message", client: "client 2", node: "C", message: 1, part: "request", byMs: 950 },
      { kind: "pause", client: "client 2", atMs: 594.5, forMs: 951, step: 0 },
      { kind: "node crash", node: "B", atMs: 597, forMs: 5, memory: "lost", isSilent: false, guardMs },
    ],
  };
}

async function seedsThatBreakExclusion(guardMs: number, makeNodes?: () => CreateNode): Promise<number> {
  let broken = 0;
  for (let seed = 1; seed <= 30; seed++) {
    const { violations } = await simulate(scenario(seed, guardMs), { createNode: makeNodes?.() });
    if (violations.some(({ checker }) => checker === "mutual exclusion")) broken += 1;
  }
  return broken;
}

/** Nodes that do not vote after a restart, but count rejoined claims at once. */
function halfGuarded(): CreateNode {
  const known = new Set<string>();
  return ({ name, clock }) => {
    const node = memoryNode({ name, clock });
    const votesAtMs = known.has(name) ? clock.monotonicMs() + 2 * ttlMs : 0;
    known.add(name);
    return {
      ...node,
      async acquire(request) {
        if (clock.monotonicMs() < votesAtMs) throw new Error("recovering from a restart");
        return node.acquire(request);
      },
    };
  };
}

it("a restart guard keeps mutual exclusion when a node forgets its votes", async () => {
  expect(await seedsThatBreakExclusion(ttlMs)).toBe(0);
});

it("a node that counts rejoined claims before its forgotten votes have expired breaks mutual exclusion", async () => {
  expect(await seedsThatBreakExclusion(0, halfGuarded)).toBeGreaterThan(0);
});
