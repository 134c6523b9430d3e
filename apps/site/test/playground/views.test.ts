import { describe, expect, it } from "vitest";
import { lastIndexUpTo, timeScale } from "../../src/playground/time-scale.ts";
import { holdSpans, uncovered } from "../../src/playground/truth.ts";
import { runOf } from "../support/runs.ts";

describe("timeScale()", () => {
  const scale = timeScale([0, 1, 3, 2000]);

  it("timeScale() gives each position back as its moment", () => {
    for (const atMs of [0, 0.5, 1, 2.5, 3, 700, 2000]) {
      expect(scale.timeAt(scale.positionOf(atMs))).toBeCloseTo(atMs, 6);
    }
  });

  it("timeScale() draws a long quiet stretch much shorter than it is", () => {
    const [short, long] = [scale.positionOf(1), scale.lengthPx - scale.positionOf(3)];
    expect(long).toBeGreaterThan(short);
    expect(long).toBeLessThan(10 * short);
  });

  it("timeScale() ends at its first and last moment", () => {
    expect([scale.timeAt(-5), scale.timeAt(1e6)]).toEqual([0, 2000]);
    expect(timeScale([0]).lengthPx).toBe(0);
  });
});

describe("lastIndexUpTo()", () => {
  it("lastIndexUpTo() finds the last entry that is not above a value", () => {
    const sorted = [0, 1, 1, 4];
    expect([-1, 0, 0.5, 1, 3.9, 4, 9].map((value) => lastIndexUpTo(sorted, value))).toEqual([0, 0, 0, 2, 2, 3, 3]);
  });
});

describe("holdSpans()", () => {
  it("holdSpans() ends the lock of client 1 when the clock of node C jumps", async () => {
    const { trace } = await runOf("#story=node-clock");
    const spans = holdSpans(trace).map(({ client, fromMs, untilMs }) => [
      client,
      Math.round(fromMs),
      Math.round(untilMs),
    ]);
    expect(spans).toEqual([
      ["client 1", 4, 30],
      ["client 2", 52, 165],
    ]);
  });
});

describe("uncovered()", () => {
  it("uncovered() returns the parts of a span that no other covers", () => {
    const covers = [
      { fromMs: 2, untilMs: 4 },
      { fromMs: 6, untilMs: 20 },
    ];
    expect(uncovered({ fromMs: 0, untilMs: 10 }, covers)).toEqual([
      { fromMs: 0, untilMs: 2 },
      { fromMs: 4, untilMs: 6 },
    ]);
    expect(uncovered({ fromMs: 7, untilMs: 9 }, covers)).toEqual([]);
  });
});
