import {
  drawScenario,
  type Fault,
  shrink,
  shrinkAndFormat,
  simulate,
  simulateSeeds,
  unexpectedViolations,
} from "@holdfast/simulation";
import { describe, expect, it } from "vitest";
import { client, update } from "./scenes.ts";

const slip: Fault = { kind: "pause before acting", client: "client 1", atMs: 10, forMs: 3000 };
const noise: Fault[] = [1, 2, 3].flatMap((message): Fault[] => [
  { kind: "late message", client: "client 2", node: "B", message, part: "reply", byMs: 3 },
  { kind: "clock jump", of: "client 2", atMs: 100 * message, byMs: 1 },
]);

/** Two operations that violate mutual exclusion because of one fault, among others that do not. */
const noisy = {
  nodes: 3,
  clients: [
    client(1, update({ thinkMs: 20, updates: 3 }), update({ resources: ["cash"] })),
    client(2, update({ afterMs: 5 }), update({ resources: ["cash"] })),
    client(3, update({ resources: ["cash"] })),
  ],
  faults: [...noise.slice(0, 3), slip, ...noise.slice(3)],
};

describe("shrink()", () => {
  it("shrink() keeps only the faults, operations and updates that cause the violation", async () => {
    const small = await shrink(noisy, "mutual exclusion");
    expect(small.faults).toEqual([slip]);
    expect(small.clients).toEqual([client(1, update({ thinkMs: 20, updates: 1 })), client(2, update({ afterMs: 5 }))]);
  });

  it("shrink() returns a scenario without violations unchanged", async () => {
    const calm = { ...noisy, faults: noise };
    expect(await shrink(calm, "mutual exclusion")).toBe(calm);
  });

  it("shrinkAndFormat() shows the violation of a seed where it happens, in few lines", async () => {
    const tally = await simulateSeeds({ faults: "lock-breaking", count: 20 });
    expect(unexpectedViolations("lock-breaking", tally)).toEqual([]);
    const seed = tally.violations["mutual exclusion"].firstSeed ?? Number.NaN;
    const scenario = drawScenario("lock-breaking", seed);
    const story = await shrinkAndFormat(scenario, "mutual exclusion");
    expect(story).toMatch(/^ +ms {2}who +what\n/);
    expect(story).toMatch(
      /^ *\d+\.\d\d {2}VIOLATED +mutual exclusion: locks \S+ and \S+ on \w+ are both believed to be valid$/m,
    );
    expect(await shrinkAndFormat(scenario, "mutual exclusion")).toBe(story);
    const { timeline } = await simulate(scenario, { timeline: true });
    expect(story.split("\n").length).toBeLessThan(timeline.length / 2);
  });
});
