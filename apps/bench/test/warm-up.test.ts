import { expect, test } from "vitest";
import type { MeasuredProcess } from "../src/process-pool.ts";
import { full, type Scale } from "../src/scale.ts";
import { isRising, warmUp } from "../src/workloads/warm-up.ts";

const scale: Scale = { ...full, warmUpMsMin: 4, warmUpMsMax: 60_000 };

function processWith(...warmedUp: string[]): MeasuredProcess {
  return { warmedUp: new Set(warmedUp) } as Partial<MeasuredProcess> as MeasuredProcess;
}

/** Works at these rates, one part after another, and records the requested durations. */
function partsOf(...rates: number[]): { askedMs: number[]; runPart(durationMs: number): Promise<number> } {
  const askedMs: number[] = [];
  const runPart = async (durationMs: number): Promise<number> => {
    askedMs.push(durationMs);
    const endMs = performance.now() + durationMs;
    while (performance.now() < endMs) await new Promise(setImmediate);
    return rates.shift() ?? 0;
  };
  return { askedMs, runPart };
}

test("warmUp() continues while the rate rises, once for each kind of work", async () => {
  const process = processWith();
  const first = partsOf(1, 2, 4, 8, 16, 32, 64, 64, 1_000);
  await warmUp(process, "cycle", scale, first.runPart);
  expect(first.askedMs).toEqual(Array(8).fill(1));
  const again = partsOf(1, 2);
  await warmUp(process, "cycle", scale, again.runPart);
  expect(again.askedMs).toEqual([]);
});

test("warmUp() takes half as long for a process that has done similar work", async () => {
  const process = processWith("1 at a time");
  const { askedMs, runPart } = partsOf(1, 1, 1, 1, 1);
  await warmUp(process, "10 at a time", scale, runPart);
  expect(askedMs.length).toBeLessThanOrEqual(2);
  expect(process.warmedUp).toEqual(new Set(["1 at a time", "10 at a time"]));
});

test("warmUp() ends after its time limit, even if the rate rises", async () => {
  const rates = Array.from({ length: 100 }, (_, index) => 2 ** index);
  const { askedMs, runPart } = partsOf(...rates);
  await warmUp(processWith(), "cycle", { ...scale, warmUpMsMax: 5 }, runPart);
  expect(askedMs.length).toBeLessThanOrEqual(5);
});

test("isRising() ignores small differences", () => {
  expect(isRising([])).toBe(false);
  expect(isRising([100])).toBe(true);
  expect(isRising([100, 104])).toBe(false);
  expect(isRising([100, 106])).toBe(true);
  expect(isRising([100, 120, 110])).toBe(false);
});
