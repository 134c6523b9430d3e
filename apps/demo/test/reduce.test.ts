import { describe, expect, it } from "vitest";
import { lostUpdates } from "../src/model/model.ts";
import { after, goodRun, left, sampled } from "./stories.ts";

describe("reduce()", () => {
  it("reduce() lists a worker as waiting until it enters, stops or gives up", () => {
    const waiting = { kind: "waiting", worker: "w1", resource: "orders" } as const;
    expect(after([waiting]).waiting).toEqual(new Map([["w1", "orders"]]));
    const ends = [
      { kind: "entered", worker: "w1", resource: "orders", fence: 1, waitedMs: 3 },
      { kind: "stopped-waiting", worker: "w1", resource: "orders" },
      { kind: "timed-out", worker: "w1", resource: "orders" },
      { kind: "unreachable", worker: "w1", resource: "orders", message: "too few nodes" },
    ] as const;
    for (const end of ends) expect(after([waiting, end]).waiting).toEqual(new Map());
  });

  it("reduce() keeps the state of each node", () => {
    const states = (count: number) => after(goodRun.slice(0, count)).nodes.map(({ state }) => state);
    expect(states(4)).toEqual(["up", "up", "up", "up", "up"]);
    expect(states(6)).toEqual(["up", "down", "up", "down", "up"]);
    expect(states(10)).toEqual(["up", "up", "up", "up", "up"]);
  });

  it("reduce() counts locks granted while two nodes were down, by the time of the grant", () => {
    expect(after(goodRun).grantsWhileTwoDown).toBe(1);
    const toldLate = { kind: "entered", worker: "w1", resource: "stock", fence: 1, waitedMs: 0, atMs: 4500 } as const;
    expect(after([...goodRun.slice(0, 6), toldLate]).grantsWhileTwoDown).toBe(0);
  });

  it("reduce() counts the increments of accepted writes alone", () => {
    const { resources, staleWritesRefused } = after(goodRun);
    const increments = Object.fromEntries(resources.map((resource) => [resource.name, resource.increments]));
    expect(increments).toEqual({ orders: 2, stock: 0, report: 0, ledger: 1 });
    expect(staleWritesRefused).toBe(1);
  });

  it("reduce() reports a lost update when a counter is behind the increments known before the read", () => {
    const told = [left({}), sampled("orders", 1), left({ enteredAtMs: 1000 })];
    expect(lostUpdates(after(told))).toBe(0);
    expect(lostUpdates(after([...told, sampled("orders", 1)]))).toBe(0); // read before the second write, perhaps
    expect(lostUpdates(after([...told, sampled("orders", 1), sampled("orders", 1)]))).toBe(1);
    expect(lostUpdates(after([...told, sampled("orders", 2), sampled("orders", 2)]))).toBe(0);
  });

  it("reduce() records the successor during the pause, and the result of the late write", () => {
    expect(after(goodRun).pause).toEqual({
      pausedAtMs: 11_000,
      resumedAtMs: 14_000,
      successor: { worker: "w1", fence: 13 },
      write: "refused",
    });
  });

  it("reduce() does not count the sleeper's lost lock", () => {
    const lost = (worker: string) => ({ kind: "lock-lost", worker, resource: "ledger", message: "expired" }) as const;
    expect(after([lost("sleeper")]).lostLocks).toBe(0);
    expect(after([lost("w1")]).lostLocks).toBe(1);
  });
});

describe("narrate()", () => {
  it("narrate() describes a run in plain words", () => {
    expect(after(goodRun).log.map(({ text }) => text)).toMatchInlineSnapshot(`
      [
        "2 workers read, wait and write counters: only the lock protects orders, stock and report; ledger also checks fencing tokens.",
        "n2 was killed. 4 of 5 nodes are left and 3 must agree: the work continues.",
        "n4 was killed. 3 of 5 nodes are left and 3 must agree: just enough.",
        "n2 is back, and empty. It was down for 4.0 s, longer than the ttl: no lock that it forgot can still be valid.",
        "n4 is back, and empty. It was down for 4.0 s, longer than the ttl: no lock that it forgot can still be valid.",
        "sleeper holds ledger and has checked its lock. Right before it writes, it stalls like a stopped process: the ttl runs out.",
        "w1 is granted ledger, with the larger token 13.",
        "sleeper continues after 2.5 s, unaware of the pause. It believes that it holds the lock (ttl 2.0 s), and writes.",
        "REFUSED: the database has seen token 13, and the token of sleeper is 12.",
        "Without tokens, this write would have undone another worker's. No lock can prevent that.",
      ]
    `);
  });

  it("narrate() says that nothing protects the counters without locks", () => {
    const { setup } = after([]);
    const [line] = after([{ kind: "began" }], { ...setup, locked: false }).log;
    expect(line?.text).toContain("nothing protects orders, stock, report and ledger");
  });

  it("narrate() describes the failures of other workers than the sleeper", () => {
    const { log } = after([
      { kind: "lock-lost", worker: "w1", resource: "orders", message: "expired" },
      { kind: "unreachable", worker: "w1", resource: "orders", message: "too few nodes" },
      { kind: "worker-failed", worker: "w1", message: "out of order" },
      left({ worker: "w1", resource: "ledger", fence: 3, write: "refused", newestFence: 4 }),
    ]);
    expect(log.map(({ tone, text }) => [tone, text])).toEqual([
      ["warning", "w1 lost its lock, and wrote nothing: expired"],
      ["warning", "w1 gave up: too few nodes"],
      ["bad", "w1 failed: out of order"],
      ["warning", "A late write of w1 to ledger was refused: 3 is below 4."],
    ]);
  });
});
