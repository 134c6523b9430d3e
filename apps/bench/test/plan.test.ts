import { expect, test } from "vitest";
import { planOf, shuffled } from "../src/plan.ts";
import { full, quick, type Scale } from "../src/scale.ts";
import { workloads } from "../src/workloads/index.ts";

const inOrder = <T>(values: T): T => values;
const short: Scale = { ...full, rounds: { alone: 2, together: 1 } };

test("planOf() lets all contenders take their turn at a case, in each round, before the next case", () => {
  const uncontended = workloads.filter(({ name }) => name === "uncontended");
  const steps = planOf(uncontended, short, inOrder);
  const [workload] = uncontended;
  const expected = [1, 2].flatMap((round) =>
    workload?.cases.flatMap((one) => workload.contenders.map(({ name }) => [round, one.name, name])),
  );
  expect(steps.map(({ round, case: one, contender }) => [round, one.name, contender.name])).toEqual(expected);
});

test("planOf() keeps the cases of a contender together where they take several processes", () => {
  const steps = planOf(
    workloads.filter(({ name }) => name === "contended"),
    short,
    inOrder,
  );
  const contenders = steps.map(({ contender }) => contender.name);
  const changes = contenders.filter((name, index) => name !== contenders[index - 1]);
  expect(changes).toHaveLength(new Set(contenders).size);
  const inMemory = steps.filter(({ contender }) => contender.name === "holdfast/memory");
  expect(inMemory.map(({ case: one }) => one.processes)).toEqual([1]);
});

test("planOf() has for a quick run what is marked as quick, and no more", () => {
  const steps = planOf(workloads, quick, shuffled);
  expect(steps.every(({ case: one }) => one.isQuick)).toBe(true);
  expect(steps.every(({ workload, contender }) => workload.quickContenders.includes(contender.name))).toBe(true);
  for (const workload of workloads) {
    const known = workload.contenders.map(({ name }) => name);
    expect(known).toEqual(expect.arrayContaining([...workload.quickContenders]));
  }
});

test("shuffled() has the same values in another order, and leaves its argument as it is", () => {
  const values = Array.from({ length: 100 }, (_, index) => index);
  const other = shuffled(values);
  expect(other).not.toEqual(values);
  expect(other.toSorted((a, b) => a - b)).toEqual(values);
});
