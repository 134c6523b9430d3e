import type { Contender } from "../contenders/contender.ts";
import { everyone } from "../contenders/index.ts";
import { type MeasureName, measures } from "../measure/measures.ts";
import { type Quartiles, quartilesOf } from "../measure/statistics.ts";
import type { Slice } from "../record.ts";
import type { Workload } from "../workloads/workload.ts";

/** A cell that was measured, with the summary of its slices. */
export type MeasuredCell = ReturnType<typeof measuredCells>[number];

/** Returns the cells of a workload that were measured. */
export function measuredCells(workload: Workload, slices: readonly Slice[]) {
  return workload.cells.flatMap((cell) => {
    const some = slices.filter((slice) => slice.workload === workload.name && slice.cell === cell.name);
    return some.length === 0 ? [] : [{ workload, cell, ...summaryOf(some) }];
  });
}

/** Summarises the slices of a cell. */
export function summaryOf(slices: readonly Slice[]) {
  const byContender = groupBy(slices, ({ contender }) => contender);
  const slicesOf = (contender: string): readonly Slice[] => byContender.get(contender) ?? [];
  /** A measure over the rounds; undefined if there is none. */
  const value = (contender: string, measure: MeasureName): Quartiles | undefined => {
    const all = slicesOf(contender).flatMap(({ figures }) => figures?.[measure] ?? []);
    const values = all.filter((one) => !Number.isNaN(one));
    if (values.length === 0) return undefined;
    if (measures[measure].over === "median") return quartilesOf(values);
    const worst = Math.max(...values);
    return { low: worst, median: worst, high: worst };
  };
  /** The contenders that were measured, in the order of the registry. */
  const contenders = everyone.filter(({ name }) => byContender.has(name));
  /** All contenders, the best first, and those without a value last. */
  const ranked = (measure: MeasureName): readonly Contender[] => {
    const sign = measures[measure].better === "more" ? -1 : 1;
    const last = sign * Number.POSITIVE_INFINITY;
    const rank = ({ name }: Contender): number => sign * (value(name, measure)?.median ?? last);
    return contenders.toSorted((a, b) => rank(a) - rank(b) || 0);
  };
  return {
    value,
    contenders,
    ranked,
    /** The ratio of the medians of two contenders. */
    ratio(contender: string, to: string, measure: MeasureName): number | undefined {
      const [one, other] = [value(contender, measure), value(to, measure)];
      return one && other && other.median !== 0 ? one.median / other.median : undefined;
    },
    /** The peer with the best median and default settings, over any client. */
    bestPeer: (measure: MeasureName): Contender | undefined =>
      ranked(measure).find(
        (one) => one.role === "peer" && one.settings.waiting === "default" && value(one.name, measure) !== undefined,
      ),
    /** Why slices have no figures. */
    errors: (contender: string): readonly string[] => slicesOf(contender).flatMap(({ error }) => error ?? []),
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
