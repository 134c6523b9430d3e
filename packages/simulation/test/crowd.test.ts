import { type Fault, type Operation, type ScenarioClient, simulate } from "@holdfast/simulation";
import { describe, expect, it } from "vitest";
import { client, update } from "./scenes.ts";

/** A process whose workers all lock the same resource again and again, each time for a moment. */
function crowd(number: number, workers: number, operation: Partial<Operation> = {}): ScenarioClient {
  const operations = Array.from({ length: 5 }, () => update({ waitTimeoutMs: 60_000, ...operation }));
  return { name: `client ${number}`, workers: Array.from({ length: workers }, () => operations) };
}

describe("a crowd", () => {
  it("a crowd gets its locks in order, and leaves turns to another process", async () => {
    const rival = client(2, update({ afterMs: 5, waitTimeoutMs: 60_000 }));
    const { history, violations } = await simulate({ nodes: 3, clients: [crowd(1, 8), rival] });
    expect(violations).toEqual([]);
    expect(history.waiters.filter(({ attempt }) => attempt === undefined)).toEqual([]);
    const turns = history.waiters.filter(({ client }) => client === "client 1").map(({ endedAtMs = 0 }) => endedAtMs);
    expect(turns).toEqual(turns.toSorted((a, b) => a - b));
  });

  it("a crowd on a fast network hands over at most sixteen times in a row while another process waits", async () => {
    const rival = client(2, update({ afterMs: 5, waitTimeoutMs: 60_000 }));
    const crowded = crowd(1, 40, { updates: 0 });
    const settings = { latencyMs: [0.1, 0.1] as const };
    const { history, violations } = await simulate({ nodes: 3, clients: [crowded, rival], settings });
    expect(violations).toEqual([]);
    const handOvers = new Map<string, number>();
    for (const { attempt, takenOverFrom } of history.locks) {
      handOvers.set(attempt, takenOverFrom === undefined ? 0 : 1 + (handOvers.get(takenOverFrom) ?? 0));
    }
    expect(Math.max(...handOvers.values())).toBe(16);
  });

  it("a crowd that gives up at any moment leaves nothing behind", async () => {
    for (let giveUpAfterMs = 1; giveUpAfterMs <= 40; giveUpAfterMs += 3) {
      const hasty = crowd(1, 4, { abortAfterMs: giveUpAfterMs });
      const { violations } = await simulate({ nodes: 3, clients: [hasty, crowd(2, 2)] });
      expect(violations).toEqual([]);
    }
  });

  it("a crowd that is paused or crashes at any step violates nothing", async () => {
    for (let step = 1; step <= 60; step++) {
      const clients = [crowd(1, 3), crowd(2, 1)];
      const faults: Fault[] = [
        { kind: "pause", client: "client 1", atMs: 10, forMs: 1500, step },
        { kind: "client crash", client: "client 1", atMs: step },
      ];
      for (const fault of faults) {
        const { violations } = await simulate({ nodes: 3, clients, faults: [fault] });
        expect(violations).toEqual([]);
      }
    }
  });
});
