import { type Fault, type Operation, type Scenario, simulate } from "@holdfast/simulation";
import { describe, expect, it } from "vitest";
import { client, lines, linesOf, update } from "./scenes.ts";

/** Client 1 under these faults, with three nodes, a ttl of 1000 ms and messages that take 1 ms. */
function under(faults: readonly Fault[], operation: Partial<Operation> = {}, more: Partial<Scenario> = {}): Scenario {
  return { nodes: 3, clients: [client(1, update(operation))], faults, ...more };
}

const toA = { client: "client 1", node: "A", message: 1 };

describe("a fault", () => {
  it("a lost request never arrives", async () => {
    const told = await lines(under([{ kind: "lost message", ...toA, part: "request" }]));
    expect(told).toContain("fault: the request of message 1 from client 1 to A is lost");
    expect(told).not.toContain("node A: granted 1.1, fence 1");
    expect(told).toContain("client 1: has lock 1.1 on stock, fence 1");
  });

  it("a lost reply leaves a claim that the client does not know of", async () => {
    const both = ["A", "B"].map((node): Fault => ({ kind: "lost message", ...toA, node, part: "reply" }));
    const told = await lines(under(both, { waitTimeoutMs: 0 }));
    expect(told).toEqual(expect.arrayContaining(["node A: granted 1.1, fence 1", "node B: granted 1.1, fence 1"]));
    expect(told.at(-1)).toMatch(/node \w: freed 1.1|rejects: could not lock stock/);
  });

  it("a late message delays later ones only on a connection that keeps the order", async () => {
    const late: Fault = { kind: "late message", ...toA, part: "request", byMs: 30 };
    const ordered = await lines(under([late]));
    expect(ordered.indexOf("node A: granted 1.1, fence 1")).toBeLessThan(ordered.indexOf("node A: freed 1.1"));
    const overtaken = await lines(under([late], {}, { settings: { keepsOrder: false } }));
    const first = overtaken.indexOf("node A: had no claim of 1.1");
    expect(first).toBeGreaterThan(0);
    expect(overtaken.indexOf("node A: granted 1.1, fence 1")).toBeGreaterThan(first);
  });

  it("a late grant is released when its reply arrives", async () => {
    const late: Fault = { kind: "late message", ...toA, part: "request", byMs: 30 };
    expect((await lines(under([late], {}, { settings: { keepsOrder: false } }))).at(-1)).toBe("node A: freed 1.1");
  });

  it("a repeated request reaches the node twice, even after the release", async () => {
    const told = await lines(under([{ kind: "repeated message", ...toA, afterMs: 500 }]));
    expect(told.filter((line) => line.startsWith("node A: granted 1.1"))).toEqual([
      "node A: granted 1.1, fence 1",
      "node A: granted 1.1, fence 2",
    ]);
  });

  it.each(["requests", "replies", "both"] as const)("a partition drops %s for a while", async (part) => {
    const cut: Fault = { kind: "partition", clients: ["client 1"], nodes: ["A", "B"], part, atMs: 0, forMs: 100 };
    const told = await lines(under([cut], { waitTimeoutMs: 0 }));
    expect(told.some((line) => line.startsWith("node C: "))).toBe(true);
    expect(told.some((line) => line.startsWith("node A: "))).toBe(part === "replies");
    expect(told.at(-1)).not.toContain("has lock");
    const later = await simulate(under([cut], { afterMs: 200 }));
    expect(later.history.locks[0]?.grantedAtMs).toBeGreaterThan(200);
  });

  it.each(["kept", "lost"] as const)("a node crash ends with the memory %s", async (memory) => {
    const crashes = ["A", "B"].map((node): Fault => {
      return { kind: "node crash", node, atMs: 50, forMs: 100, memory, isSilent: false };
    });
    const clients = [client(1, update({ thinkMs: 600 })), client(2, update({ afterMs: 200 }))];
    const { violations } = await simulate({ nodes: 3, clients, faults: crashes });
    const expected = memory === "lost" ? ["mutual exclusion"] : [];
    expect(violations.map(({ checker }) => checker)).toEqual(expected);
  });

  it("a node crash loses the messages in flight, and refuses connections unless it is silent", async () => {
    const crash = (isSilent: boolean): Fault[] => [
      { kind: "node crash", node: "A", atMs: 0.5, forMs: 0.1, memory: "kept", isSilent },
      ...["B", "C"].map((node): Fault => ({ kind: "lost message", ...toA, node, part: "request" })),
    ];
    const loud = await lines(under(crash(false), { waitTimeoutMs: 0 }));
    expect(loud).toContain("node A: does not get the request to acquire 1.1");
    expect(loud.join()).toContain("A failed: connection refused");
    expect((await lines(under(crash(true), { waitTimeoutMs: 0 }))).join()).toContain("A timed out after 50 ms");
  });

  it("a client crash stops all messages, and the lock ends with the ttl", async () => {
    const clients = [client(1, update({ thinkMs: 300 })), client(2, update({ afterMs: 10 }))];
    const run = await simulate({ clients, faults: [{ kind: "client crash", client: "client 1", atMs: 100 }] });
    expect(run.violations).toEqual([]);
    expect(run.history.locks.map(({ client }) => client).slice(0, 2)).toEqual(["client 1", "client 2"]);
    expect(run.history.locks[1]?.grantedAtMs).toBeGreaterThan(1000);
  });

  it("a clock jump of a client ends its lock early if forward, and changes nothing if back", async () => {
    const jump = (byMs: number): Fault[] => [{ kind: "clock jump", of: "client 1", atMs: 100, byMs }];
    const kept = await lines(under(jump(-5000), { thinkMs: 300 }));
    expect(kept).toContain("client 1: writes stock under lock 1.1");
    const lost = await lines(under(jump(5000), { thinkMs: 300 }));
    expect(lost).not.toContain("client 1: writes stock under lock 1.1");
  });

  it("a clock drift changes how much time a client measures", async () => {
    const start = async (rate: number) => {
      const run = await simulate(under([{ kind: "clock drift", of: "client 1", rate }], { afterMs: 1000 }));
      return run.history.locks[0]?.startedAtMs ?? Number.NaN;
    };
    expect(await start(2)).toBeCloseTo((await start(1)) / 2, 5);
  });

  it("a pause between two turns delays replies, and the age of the lock includes it", async () => {
    const pause: Fault = { kind: "pause", client: "client 1", atMs: 1.5, forMs: 400, step: 0 };
    const { history } = await simulate(under([pause]));
    expect(history.locks[0]).toMatchObject({ startedAtMs: 0, grantedAtMs: 401.5 });
  });

  it("a pause can strike between two requests of one turn", async () => {
    const pause = (step: number): Fault => ({ kind: "pause", client: "client 1", atMs: 0, forMs: 10, step });
    const requests = async (step: number) =>
      linesOf(await simulate(under([pause(step)]), { timeline: true })).filter((line) =>
        line.includes(" for stock, 1.1"),
      );
    const split = await Promise.all(Array.from({ length: 12 }, (_, step) => requests(step)));
    expect(split).toContainEqual(["client 1: asks A for stock, 1.1", "client 1: asks B, C for stock, 1.1"]);
    expect(split).toContainEqual(["client 1: asks A, B for stock, 1.1", "client 1: asks C for stock, 1.1"]);
  });

  it("a suspension stops the monotonic clock, and the wall clock shows that the lock has ended", async () => {
    const clients = [client(1, update({ thinkMs: 500 })), client(2, update({ afterMs: 5 }))];
    const faults: Fault[] = [{ kind: "suspension", client: "client 1", atMs: 100, forMs: 5000 }];
    const run = await simulate({ nodes: 3, clients, faults }, { timeline: true });
    expect(run.violations).toEqual([]);
    expect(linesOf(run)).not.toContain("client 1: writes stock under lock 1.1");
    const done = run.timeline.find(({ what }) => what === "is done with lock 1.1");
    expect(done?.atMs).toBeGreaterThan(5500); // the timer had 400 ms left when the machine woke up
  });
});
