import { describe, expect, it } from "vitest";
import type { Fault } from "../src/scenario/fault.ts";
import { complete, type Scenario } from "../src/scenario/scenario.ts";
import { splitMs } from "../src/scenario/split-votes.ts";

const settings = {
  ttlMs: 500,
  nodeTimeoutMs: 100,
  retryDelayMs: 25,
  retryDelayMaxMs: 125,
  latencyMs: [0.3, 3] as const,
};

/** How long so many clients of three nodes may split their votes, in milliseconds. */
function limitOf(clients: number, faults: readonly Fault[] = []): number {
  const workers: Scenario["clients"][number]["workers"] = [[{ by: "acquire", resources: ["stock"] }]];
  const names = Array.from({ length: clients }, (_, index) => `client ${index + 1}`);
  return splitMs(complete({ nodes: 3, clients: names.map((name) => ({ name, workers })), settings, faults }), 1);
}

const crash = (isSilent: boolean, forMs: number): Fault => {
  return { kind: "node crash", node: "B", atMs: 1000, forMs, memory: "kept", isSilent };
};

describe("splitMs()", () => {
  it("splitMs() is 0 for two clients of three nodes, unless one of these stays down", () => {
    expect(limitOf(2)).toBe(0);
    expect(limitOf(2, [crash(false, 100)])).toBe(0);
    expect(limitOf(2, [crash(false, Infinity)])).toBeGreaterThan(0);
  });

  it("splitMs() counts the node timeout while a node stays silent, as a split vote waits for it", () => {
    const all = limitOf(5);
    expect(all).toBeLessThan(1000);
    expect(limitOf(5, [crash(false, Infinity)])).toBe(all);
    expect(limitOf(5, [crash(true, 100)])).toBe(all);
    expect(limitOf(5, [crash(true, Infinity)])).toBeGreaterThan(5 * all);
  });
});
