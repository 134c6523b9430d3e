import { type Operation, type Scenario, shrink, simulate } from "@holdfast/simulation";
import { describe, expect, it } from "vitest";
import { client } from "./scenes.ts";

const patient = { waitTimeoutMs: 30_000, autoExtend: true, updates: 0 } as const;

function locks(resources: string[], operation: Partial<Operation> = {}): Operation {
  return { by: "acquire", resources, ...patient, ...operation };
}

/** A program that holds `book` and then locks `cash` and `mail`, while others want `book` and `cash`. */
const nested: Operation = locks(["book"], { under: [locks(["cash", "mail"], { afterMs: 20 })] });
const both: Operation = locks(["book", "cash"], { afterMs: 10 });

describe("programs with nested locks", () => {
  it("an operation under another one runs while the outer lock is held", async () => {
    const { history, operations, violations } = await simulate({ nodes: 3, clients: [client(1, nested)] });
    expect(violations).toEqual([]);
    expect(operations).toBe(2);
    const [outer, inner] = history.locks;
    expect([outer?.resources, inner?.resources]).toEqual([["book"], ["cash", "mail"]]);
    expect(outer?.endedAtMs).toBeGreaterThan(inner?.endedAtMs ?? Infinity);
  });

  it("shrink() removes an operation together with the operations under it", async () => {
    const forgetful = locks(["stock"], { autoExtend: false, end: "forget" });
    const late = { kind: "pause before acting", client: "client 1", atMs: 0, forMs: 3000 } as const;
    const reads = locks(["mail"], { autoExtend: false, updates: 1 });
    const scenario: Scenario = {
      nodes: 1,
      clients: [
        client(1, locks(["book"], { under: [reads, forgetful] })),
        client(2, both, locks(["mail"], { updates: 1, afterMs: 1500 })),
      ],
      faults: [late],
    };
    const small = await shrink(scenario, "mutual exclusion");
    expect(small.clients.flatMap(({ workers }) => workers.flat())).toMatchObject([
      { resources: ["book"], under: [{ resources: ["mail"] }] },
      { resources: ["mail"] },
    ]);
  });

  it("a client that does not listen watches no node", async () => {
    const deaf = { ...client(2, locks(["book"], { afterMs: 1 })), listens: false };
    const { history, timeline, violations } = await simulate(
      { nodes: 3, clients: [client(1, locks(["book"], { updates: 5 })), deaf] },
      { timeline: true },
    );
    expect(violations).toEqual([]);
    expect(history.waiters.slice(0, 2).map(({ isNotified }) => isNotified)).toEqual([true, false]);
    expect(timeline.filter(({ who, what }) => who === "client 2" && what.includes("to watch"))).toEqual([]);
  });

  it("calmAfterMs ends the faults of single messages", async () => {
    const faults = [20, 21].map((message) => ({
      ...({ kind: "lost message", client: "client 1", node: "A", part: "request" } as const),
      message,
    }));
    const work = Array.from({ length: 30 }, () => locks(["book"]));
    const run = (calmAfterMs: number) =>
      simulate({ nodes: 3, clients: [client(1, ...work)], faults, settings: { calmAfterMs } });
    expect((await run(Infinity)).struck).toHaveLength(2);
    expect((await run(10)).struck).toHaveLength(0);
    expect((await run(10)).history.completion?.fromMs).toBeGreaterThan(1000);
    expect((await run(Infinity)).history.completion).toBeUndefined();
  });
});
