import { type LockMode, type Operation, type Scenario, simulate } from "@holdfast/simulation";
import { describe, expect, it } from "vitest";
import { client, lines, update } from "./scenes.ts";

function read(operation: Partial<Operation> = {}): Operation {
  return update({ mode: "shared", ...operation });
}

describe("operations with shared locks", () => {
  it("readers of several processes hold their locks together, and a writer gets its lock after them", async () => {
    const { history, violations } = await simulate({
      nodes: 3,
      clients: [
        client(1, read({ thinkMs: 100 })),
        client(2, read({ afterMs: 10, thinkMs: 100 })),
        client(3, update({ afterMs: 20 })),
      ],
    });
    expect(violations).toEqual([]);
    const [one, other, writer] = history.locks;
    expect([one?.mode, other?.mode, writer?.mode]).toEqual(["shared", "shared", "exclusive"]);
    expect(other?.grantedAtMs).toBeLessThan(one?.endedAtMs ?? 0);
    expect(writer?.startedAtMs).toBeGreaterThan(20);
    expect(writer?.grantedAtMs).toBeGreaterThan(other?.endedAtMs ?? Infinity);
    expect(one?.fence).toBe(other?.fence);
  });

  it("the timeline shows a shared lock and its two reads", async () => {
    const told = await lines({ nodes: 1, clients: [client(1, read())] });
    expect(told).toContain("client 1: asks A to share stock, 1.1");
    expect(told.some((line) => line.startsWith("client 1: has shared lock 1.1 on stock"))).toBe(true);
    expect(told).toContain("client 1: reads stock under lock 1.1");
    expect(told).toContain("client 1: reads stock again under lock 1.1");
  });

  it("programs that nest shared and exclusive locks in one order all end", async () => {
    const patient = { waitTimeoutMs: 30_000, autoExtend: true } as const;
    const nest = (outer: LockMode, inner: LockMode, afterMs: number): Operation =>
      update({
        ...patient,
        ...{ mode: outer, resources: ["book"], afterMs },
        under: [update({ ...patient, mode: inner, resources: ["cash"], thinkMs: 20 })],
      });
    const modes = ["shared", "exclusive"] as const;
    const clients = modes.flatMap((outer, index) =>
      modes.map((inner, other) => client(1 + 2 * index + other, nest(outer, inner, index), nest(inner, outer, other))),
    );
    const { history, violations, operations } = await simulate({ nodes: 3, clients });
    expect(violations).toEqual([]);
    expect(operations).toBe(16);
    expect(history.waiters.filter(({ attempt }) => attempt === undefined)).toEqual([]);
  });

  it("readers keep their locks while each node in turn restarts without its memory", async () => {
    const long = { ttlMs: 400, autoExtend: true, thinkMs: 3000, waitTimeoutMs: 5000 } as const;
    const faults = ["A", "B", "C"].map((node, index) => ({
      ...({ kind: "node crash", node, memory: "lost", isSilent: false } as const),
      ...{ atMs: 300 + 800 * index, forMs: 1, guardMs: 500 },
    }));
    const { history, violations } = await simulate({
      nodes: 3,
      clients: [client(1, read(long)), client(2, read(long))],
      faults,
      settings: { ttlMs: 400 },
    });
    expect(violations).toEqual([]);
    for (const { seenValid } of history.locks.slice(0, 2)) expect(seenValid?.untilMs).toBeGreaterThan(3000);
  });
});

describe("storages under shared locks", () => {
  /** The second read of a reader arrives long after its lock has ended, and a writer has had its lock meanwhile. */
  const lateReader: Scenario = {
    clients: [client(1, read({ thinkMs: 100 })), client(2, update({ afterMs: 50 }))],
    faults: [{ kind: "late access", client: "client 1", access: 2, byMs: 2000 }],
  };

  it("a storage that checks every token refuses the second read of a reader that is late", async () => {
    const { history } = await simulate(lateReader);
    const storages = history.nonrepeatableReads.map(({ storage }) => storage);
    expect(storages).toEqual(["checks writes", "checks nothing"]);
    expect(history.nonrepeatableReads[0]).toMatchObject({ resource: "stock", reader: "1.1" });
  });

  it("a storage that checks every token refuses a late writer after a newer reader", async () => {
    const { history, violations } = await simulate({
      clients: [client(1, update({ thinkMs: 100 })), client(2, read({ afterMs: 50, thinkMs: 2500, autoExtend: true }))],
      faults: [{ kind: "late access", client: "client 1", access: 2, byMs: 1500 }],
    });
    const storages = history.nonrepeatableReads.map(({ storage }) => storage);
    expect(storages).toEqual(["checks writes", "checks nothing"]);
    expect(violations).toEqual([]);
  });
});
