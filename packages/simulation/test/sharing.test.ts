import { type Operation, type Scenario, simulate } from "@holdfast/simulation";
import { describe, expect, it } from "vitest";
import { client, lines, update } from "./scenes.ts";

function read(operation: Partial<Operation> = {}): Operation {
  return update({ mode: "shared", ...operation });
}

describe("operations with shared locks", () => {
  it("the timeline shows a shared lock and its two reads", async () => {
    const told = await lines({ nodes: 1, clients: [client(1, read())] });
    expect(told).toContain("client 1: asks A to share stock, 1.1");
    expect(told.some((line) => line.startsWith("client 1: has shared lock 1.1 on stock"))).toBe(true);
    expect(told).toContain("client 1: reads stock under lock 1.1");
    expect(told).toContain("client 1: reads stock again under lock 1.1");
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
