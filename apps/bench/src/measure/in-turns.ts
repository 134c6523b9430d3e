import { quartilesOf } from "./statistics.ts";

/** The times of each contender, in milliseconds. */
export type Times = Map<string, number[]>;

/** Adds a time. */
export function record(times: Times, name: string, time: number): void {
  times.set(name, [...(times.get(name) ?? []), time]);
}

/** Runs each contender in each of several rounds, after one to warm up. */
export async function inTurns(names: readonly string[], run: (name: string) => Promise<number>): Promise<Times> {
  const times: Times = new Map();
  for (let round = 0; round < 16; round++) {
    for (const name of names) {
      const time = await run(name);
      if (round > 0) record(times, name, time);
    }
  }
  return times;
}

/** Prints the medians, the quartiles, and the ratios to one contender. */
export function report(title: string, times: Times, base: string): void {
  console.log(`\n${title}`);
  const baseMs = quartilesOf(times.get(base) ?? []).median;
  for (const [name, list] of times) {
    const { low, median, high } = quartilesOf(list);
    const range = `${median.toFixed(2)} ms (${low.toFixed(2)} – ${high.toFixed(2)})`;
    console.log(`  ${name.padEnd(30)} ${range.padEnd(28)} × ${(median / baseMs).toFixed(2)}`);
  }
}
