import type { Contender } from "../contenders/contender.ts";
import { everyone } from "../contenders/index.ts";
import { type MeasureName, measureNamed } from "../measure/measures.ts";
import { type Quartiles, quartilesOf } from "../measure/statistics.ts";
import type { Turn } from "../record.ts";

/** A case of a workload, as recorded. */
export interface Place {
  readonly workload: string;
  readonly case: string;
}

/** Where a contender's value of a measure is found. */
export interface Spot extends Place {
  readonly contender: string;
  readonly measure: MeasureName;
}

/** What all rounds come to. */
export interface Summary {
  /** The contenders that took their turn there, in the order of the registry. */
  contendersAt(place: Place): readonly Contender[];
  /** A measure over the rounds; undefined where it was not measured. */
  of(spot: Spot): Quartiles | undefined;
  /** The ratio of two values of the same round, over the rounds. */
  ratio(spot: Spot, to: Spot): Quartiles | undefined;
  /** All contenders there, the best first; last those that were not measured. */
  ranked(at: Omit<Spot, "contender">): readonly Contender[];
  /** The one of these contenders with the best value. */
  best(contenders: readonly Contender[], at: Omit<Spot, "contender">): Contender | undefined;
  /** Why turns came to nothing. */
  errors(place: Place & { readonly contender: string }): readonly string[];
}

/** Sums up turns. */
export function summaryOf(turns: readonly Turn[]): Summary {
  const byPlace = new Map<string, Turn[]>();
  for (const turn of turns) {
    const key = keyOf(turn.workload, turn.case, turn.contender);
    byPlace.set(key, [...(byPlace.get(key) ?? []), turn]);
  }
  const turnsAt = ({ workload, case: one, contender }: Place & { readonly contender: string }): readonly Turn[] =>
    byPlace.get(keyOf(workload, one, contender)) ?? [];
  const valuesAt = (spot: Spot): ReadonlyMap<number, number> =>
    new Map(
      turnsAt(spot).flatMap(({ round, figures }) => {
        const value = figures?.[spot.measure];
        return value === undefined || Number.isNaN(value) ? [] : [[round, value]];
      }),
    );
  const of = (spot: Spot): Quartiles | undefined => over(spot.measure, [...valuesAt(spot).values()]);
  const contendersAt = (place: Place): Contender[] =>
    everyone.filter(({ name }) => turnsAt({ ...place, contender: name }).length > 0);
  /** Less is better. */
  const rankOf = ({ name }: Contender, at: Omit<Spot, "contender">): number => {
    const value = of({ ...at, contender: name })?.median ?? Number.NaN;
    return measureNamed(at.measure).better === "more" ? -value : value;
  };
  return {
    of,
    contendersAt,
    ratio(spot, to) {
      const base = valuesAt(to);
      const ratios = [...valuesAt(spot)].flatMap(([round, value]) => {
        const other = base.get(round);
        return other === undefined || other === 0 ? [] : [value / other];
      });
      return ratios.length === 0 ? undefined : quartilesOf(ratios);
    },
    ranked(at) {
      const all = contendersAt(at);
      const measured = all.filter((one) => !Number.isNaN(rankOf(one, at)));
      return [
        ...measured.sort((a, b) => rankOf(a, at) - rankOf(b, at)),
        ...all.filter((one) => Number.isNaN(rankOf(one, at))),
      ];
    },
    best(contenders, at) {
      const measured = contenders.filter((one) => !Number.isNaN(rankOf(one, at)));
      return measured.sort((a, b) => rankOf(a, at) - rankOf(b, at))[0];
    },
    errors: (place) => turnsAt(place).flatMap(({ error }) => error ?? []),
  };
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
