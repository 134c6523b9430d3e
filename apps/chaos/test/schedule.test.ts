import { describe, expect, test } from "vitest";
import { nemeses } from "../src/nemeses/index.ts";
import { scheduleOf } from "../src/schedule.ts";

const options = { nemeses, seconds: 300, nodes: 5, clients: 4, seed: 7 };

describe("scheduleOf()", () => {
  test("scheduleOf() draws the same attacks from the same seed, and others from another", () => {
    expect(scheduleOf(options)).toEqual(scheduleOf(options));
    expect(scheduleOf(options)).not.toEqual(scheduleOf({ ...options, seed: 8 }));
  });

  test("scheduleOf() has each nemesis equally often, and at least once", () => {
    const counts = (seconds: number) =>
      nemeses.map((nemesis) => scheduleOf({ ...options, seconds }).filter((slice) => slice.nemesis === nemesis).length);
    expect(new Set(counts(5))).toEqual(new Set([1]));
    expect(new Set(counts(300))).toEqual(new Set([Math.floor(300 / 2 / nemeses.length)]));
  });

  test.each([
    [3, 1],
    [4, 1],
    [5, 2],
    [9, 4],
  ])("scheduleOf() strikes no more than a minority of %i nodes, or one more, or all", (nodes, minority) => {
    const counts = { none: 0, minority, "minority and one": minority + 1, all: nodes };
    for (const { nemesis, ...slice } of scheduleOf({ ...options, nodes }))
      expect(new Set(slice.nodes).size).toBe(counts[nemesis.nodes]);
  });
});
