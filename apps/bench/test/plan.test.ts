import { expect, test } from "vitest";
import { estimateMs, planOf } from "../src/plan.ts";
import { full, fullStores, quick, quickStores, type Scale } from "../src/scale.ts";
import { storeWorkloads, workloads } from "../src/workloads/index.ts";
import { uncontended } from "../src/workloads/uncontended.ts";

const inOrder = <T>(values: T): T => values;
const twoRounds: Scale = { ...full, rounds: 2 };

test("planOf() measures all contenders of a cell in each round, and one cell after another", () => {
  const expected = uncontended.cells.flatMap((cell) =>
    [1, 2].flatMap((round) => uncontended.contenders.map(({ name }) => [cell.name, round, name])),
  );
  const steps = planOf([uncontended], twoRounds, inOrder);
  expect(steps.map(({ round, cell, contender }) => [cell.name, round, contender.name])).toEqual(expected);
});

test("planOf() selects cells by servers and by locks at a time", () => {
  const steps = planOf(workloads, twoRounds, inOrder, { servers: [1], atATime: [10, 100] });
  expect(new Set(steps.map(({ cell }) => cell.name))).toEqual(
    new Set(["1 server, 10 at a time", "1 server, 100 at a time"]),
  );
});

test("planOf() selects the quick cells and contenders for a quick run", () => {
  const steps = planOf(workloads, quick, inOrder);
  expect(steps.every(({ cell }) => cell.isQuick)).toBe(true);
  expect(steps.every(({ workload, contender }) => workload.quickContenders.includes(contender.name))).toBe(true);
  for (const workload of workloads) {
    const known = workload.contenders.map(({ name }) => name);
    expect(known).toEqual(expect.arrayContaining([...workload.quickContenders]));
  }
});

test("estimateMs() stays within the limits for a full and a quick run", () => {
  expect(estimateMs(planOf(workloads, full, inOrder), full) / 60_000).toBeLessThan(30);
  expect(estimateMs(planOf(workloads, quick, inOrder), quick) / 60_000).toBeLessThan(1.75);
  expect(estimateMs(planOf(storeWorkloads, fullStores, inOrder), fullStores) / 60_000).toBeLessThan(10.5);
  expect(estimateMs(planOf(storeWorkloads, quickStores, inOrder), quickStores) / 60_000).toBeLessThan(3);
});
