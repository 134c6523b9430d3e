import { expect, test } from "vitest";
import type { Worker } from "../src/crew.ts";
import { full, type Scale } from "../src/scale.ts";
import { isRising, warmUp } from "../src/workloads/warm-up.ts";

const scale: Scale = { ...full, warmUpMs: 1, heatMsMin: 4, heatMsMax: 60_000 };

function workerWith(...skills: string[]): Worker {
  return {
    skills: new Set(skills),
    isAlive: true,
    kill() {},
    call: () => {
      throw new Error("nobody is to be asked");
    },
  };
}

/** Works as fast as these rates say, one slice after another, and notes how long each was to be. */
function slicesOf(...rates: number[]): { askedMs: number[]; slice(durationMs: number): Promise<number> } {
  const askedMs: number[] = [];
  const slice = async (durationMs: number): Promise<number> => {
    askedMs.push(durationMs);
    const endMs = performance.now() + durationMs;
    while (performance.now() < endMs) await new Promise(setImmediate);
    return rates.shift() ?? 0;
  };
  return { askedMs, slice };
}

test("warmUp() goes on while the rate rises, and does so once for each kind of work", async () => {
  const worker = workerWith();
  const first = slicesOf(1, 2, 4, 8, 16, 32, 64, 64, 1_000);
  await warmUp([worker], "cycle", scale, first.slice);
  expect(first.askedMs).toEqual(Array(8).fill(1));
  const again = slicesOf(1, 2);
  await warmUp([worker], "cycle", scale, again.slice);
  expect(again.askedMs).toEqual([scale.warmUpMs]);
});

test("warmUp() takes processes for new as long as one of them is", async () => {
  const [old, young] = [workerWith("cycle"), workerWith()];
  const { askedMs, slice } = slicesOf(1, 2, 4, 8, 16, 16);
  await warmUp([old, young], "cycle", scale, slice);
  expect(askedMs).toHaveLength(6);
  expect(young.skills).toEqual(new Set(["cycle"]));
});

test("warmUp() ends when time is up, though the rate rises", async () => {
  const rates = Array.from({ length: 100 }, (_, index) => 2 ** index);
  const { askedMs, slice } = slicesOf(...rates);
  await warmUp([workerWith()], "cycle", { ...scale, heatMsMax: 5 }, slice);
  expect(askedMs.length).toBeLessThanOrEqual(5);
});

test("isRising() asks for more than chance", () => {
  expect(isRising([])).toBe(false);
  expect(isRising([100])).toBe(true);
  expect(isRising([100, 104])).toBe(false);
  expect(isRising([100, 106])).toBe(true);
  expect(isRising([100, 120, 110])).toBe(false);
});
