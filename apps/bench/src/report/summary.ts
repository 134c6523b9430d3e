import type { Contender } from "../contenders/contender.ts";
import { everyone } from "../contenders/index.ts";
import { type MeasureName, measureNamed } from "../measure/measures.ts";
import { type Quartiles, quartilesOf } from "../measure/statistics.ts";
import type { Slice } from "../record.ts";

/** A cell of a workload, by names. */
export interface CellName {
  readonly workload: string;
  readonly cell: string;
}

/** The summary of all rounds. */
export interface Summary {
  /** The contenders that were measured in a cell, in the order of the registry. */
  contendersIn(at: CellName): readonly Contender[];
  /** A measure over the rounds; undefined if there is none. */
  value(at: CellName, contender: string, measure: MeasureName): Quartiles | undefined;
  /** The ratio of the medians of two contenders. */
  ratio(at: CellName, contender: string, to: string, measure: MeasureName): number | undefined;
  /** All contenders of a cell, the best first, and those without a value last. */
  ranked(at: CellName, measure: MeasureName): readonly Contender[];
  /** The peer with the best median and default settings, over any client. */
  bestPeer(at: CellName, measure: MeasureName): Contender | undefined;
  /** Why slices have no figures. */
  errors(at: CellName, contender: string): readonly string[];
}

/** Summarises slices. */
export function summaryOf(slices: readonly Slice[]): Summary {
  const byPlace = groupBy(slices, ({ workload, cell, contender }) => keyOf(workload, cell, contender));
  const slicesOf = ({ workload, cell }: CellName, contender: string): readonly Slice[] =>
    byPlace.get(keyOf(workload, cell, contender)) ?? [];
  const value: Summary["value"] = (at, contender, measure) => {
    const values = slicesOf(at, contender).flatMap(({ figures }) => figures?.[measure] ?? []);
    return over(
      measure,
      values.filter((one) => !Number.isNaN(one)),
    );
  };
  const contendersIn: Summary["contendersIn"] = (at) => everyone.filter(({ name }) => slicesOf(at, name).length > 0);
  const ranked: Summary["ranked"] = (at, measure) => {
    const sign = measureNamed(measure).better === "more" ? -1 : 1;
    const rank = new Map(
      contendersIn(at).map((one) => [one, sign * (value(at, one.name, measure)?.median ?? Number.NaN)]),
    );
    const measured = [...rank].filter(([, place]) => !Number.isNaN(place)).sort(([, a], [, b]) => a - b);
    const others = [...rank].filter(([, place]) => Number.isNaN(place));
    return [...measured, ...others].map(([contender]) => contender);
  };
  return {
    contendersIn,
    value,
    ranked,
    ratio(at, contender, to, measure) {
      const [one, other] = [value(at, contender, measure), value(at, to, measure)];
      return one && other && other.median !== 0 ? one.median / other.median : undefined;
    },
    bestPeer: (at, measure) =>
      ranked(at, measure).find(
        (one) =>
          one.role === "peer" && one.settings.waiting === "default" && value(at, one.name, measure) !== undefined,
      ),
    errors: (at, contender) => slicesOf(at, contender).flatMap(({ error }) => error ?? []),
  };
}

/** Groups values by a key, in the order of their first appearance. */
export function groupBy<Value, Key>(values: Iterable<Value>, keyOf: (value: Value) => Key): Map<Key, Value[]> {
  const groups = new Map<Key, Value[]>();
  for (const value of values) {
    const key = keyOf(value);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [value]);
    else group.push(value);
  }
  return groups;
}

function keyOf(...words: string[]): string {
  return words.join("\n");
}

function over(measure: MeasureName, values: readonly number[]): Quartiles | undefined {
  if (values.length === 0) return undefined;
  if (measureNamed(measure).over === "median") return quartilesOf(values);
  const worst = Math.max(...values);
  return { low: worst, median: worst, high: worst };
}
