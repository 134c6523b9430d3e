import { stripVTControlCharacters } from "node:util";
import { describe, expect, it } from "vitest";
import { colors, type WorkerEvent } from "../src/run.ts";
import { entered, goodRun, hearing, left, newRun } from "./stories.ts";

const { red, yellow } = colors;

function failed(code: string, message: string, worker = "w1"): WorkerEvent {
  return { kind: "failed", worker, resource: "orders", code, message };
}

describe("Run", () => {
  it("hear() lists a worker as waiting until it enters, stops or gives up", () => {
    const waiting = { kind: "waiting", worker: "w1", resource: "orders" } as const;
    expect(hearing([waiting]).waiting).toEqual(new Map([["w1", "orders"]]));
    const codes = ["FINISH", "WAIT_TIMEOUT", "QUORUM_UNREACHABLE"];
    for (const end of [entered("w1", "orders", 1, 0, 3), ...codes.map((code) => failed(code, "late"))]) {
      expect(hearing([waiting, end]).waiting).toEqual(new Map());
    }
  });

  it("hear() counts locks granted while two nodes were down, by the time of the grant", () => {
    expect(goodRun().grantsWhileTwoDown).toBe(1);
    const grants = (atMs: number): number => {
      const run = newRun();
      run.nodes.set("n2", { state: "down", sinceMs: 4000 });
      run.nodes.set("n4", { state: "restarting", sinceMs: 5000 });
      return hearing([entered("w1", "stock", 1, atMs, 0)], run).grantsWhileTwoDown;
    };
    expect([grants(4500), grants(5500)]).toEqual([0, 1]);
  });

  it("hear() counts the increments of accepted writes alone", () => {
    const run = goodRun();
    expect(["orders", "stock", "report", "ledger"].map((name) => run.increments(name))).toEqual([2, 0, 0, 1]);
    expect(run.staleWritesRefused).toBe(1);
  });

  it("sample() reports a lost update when a counter is behind the increments known before the read", () => {
    const told = (...values: number[]): number => {
      const run = hearing([left({})]);
      run.sample("orders", { value: 1 });
      hearing([left({ enteredAtMs: 1000 })], run);
      for (const value of values) run.sample("orders", { value });
      return run.lostUpdates;
    };
    expect(told()).toBe(0);
    expect(told(1)).toBe(0); // read before the second write, perhaps
    expect(told(1, 1)).toBe(1);
    expect(told(2, 2)).toBe(0);
  });

  it("hear() tells who got the lock during the pause, and the result of the late write", () => {
    const story = (write: "refused" | "accepted" | "none"): string[] =>
      goodRun(write).log.map(({ text }) => stripVTControlCharacters(text));
    const successor = "w1 is granted ledger, with the larger token 13.";
    expect(story("refused")).toEqual([
      successor,
      "REFUSED: the database has seen token 13, and the token of sleeper is 12.",
      "Without tokens, this write would have undone another worker's. No lock can prevent that.",
    ]);
    expect(story("accepted")).toEqual([
      successor,
      "ACCEPTED: without a token, the database could not know that sleeper was late. The write undid those of others.",
    ]);
    expect(story("none")).toEqual([successor, "sleeper wrote nothing."]);
    expect(goodRun().pause).toEqual({ sinceMs: 11_000, hasSuccessor: true, write: "refused" });
  });

  it("hear() counts and describes failures, but not the sleeper's lost lock", () => {
    const run = hearing([
      failed("LOCK_LOST", "expired"),
      failed("LOCK_LOST", "expired", "sleeper"),
      failed("QUORUM_UNREACHABLE", "too few nodes"),
      failed("WAIT_TIMEOUT", "late"),
      left({ worker: "w1", resource: "ledger", fence: 3, write: "refused", newestFence: 4 }),
    ]);
    run.fail(new Error("out of order"), "w1");
    run.fail(new Error("too slow"));
    expect(run.failures).toEqual(
      new Map([
        ["LOCK_LOST", 1],
        ["QUORUM_UNREACHABLE", 1],
        ["WAIT_TIMEOUT", 1],
      ]),
    );
    expect(run.log.map(({ text }) => text)).toEqual([
      yellow("w1 lost its lock, and wrote nothing: expired"),
      yellow("w1 gave up: too few nodes"),
      yellow("A late write of w1 to ledger was refused: 3 is below 4."),
      red("w1 failed: out of order"),
      red("The run was cut short: too slow"),
    ]);
  });
});
