import type { Result } from "../judge.ts";
import type { Nemesis } from "../nemeses/nemesis.ts";
import { type ChaosOptions, commandOf } from "../options.ts";
import { eventsOf } from "./events.ts";

/** The sums over several attacks. */
export type Figures = ReturnType<typeof figuresOf>;

/** Adds up the results. */
export function figuresOf(results: readonly Result[]) {
  const sum = (of: (result: Result) => number): number => results.reduce((total, result) => total + of(result), 0);
  const lastedMs = ({ history }: Result): number => history.toMs - history.fromMs;
  return {
    attacks: results.length,
    locks: sum(({ findings }) => findings.locks),
    availability: sum((result) => result.findings.availability * lastedMs(result)) / (sum(lastedMs) || 1),
    longestGapMs: Math.max(0, ...results.map(({ findings }) => findings.longestGapMs)),
    overlaps: sum(({ findings }) => findings.overlaps.length),
    lostPlain: sum(({ findings }) => findings.lostPlain),
    lostFenced: sum(({ findings }) => findings.lostFenced),
    refused: sum(({ findings }) => findings.refused),
  };
}

/** Everything that the page of a run says, as in its `figures.json`. */
export interface ReportFigures {
  readonly run: {
    readonly command: string;
    readonly seconds: number;
    readonly nodes: number;
    readonly clients: number;
    readonly ttlMs: number;
    /** All attacks, and what they violated, in words. */
    readonly attacks: number;
    readonly violated: readonly { readonly nemesis: string; readonly violations: readonly string[] }[];
  };
  readonly rows: readonly NemesisRow[];
}

/** Collects the figures of a run. */
export function reportFiguresOf(options: ChaosOptions, results: readonly Result[]): ReportFigures {
  const { nodes, clients, ttlMs, nemeses, report } = options;
  const of = (nemesis: Nemesis): Result[] => results.filter(({ slice }) => slice.nemesis === nemesis);
  return {
    run: {
      command: `${commandOf(options)}${report === undefined ? "" : ` --report ${report}`}`,
      seconds: Math.round((results.at(-1)?.atMs ?? 0) / 1_000),
      ...{ nodes, clients, ttlMs, attacks: results.length },
      violated: results
        .filter(({ findings }) => findings.violations.length > 0)
        .map(({ slice, findings }) => ({ nemesis: slice.nemesis.name, violations: findings.violations })),
    },
    rows: nemeses.map((nemesis) => rowOf(nemesis, of(nemesis))),
  };
}

/**
 * The figures of a nemesis: the availability is rounded down to hundredths, and the gap to milliseconds. If it did harm, with
 * what happened in the attack that did the most.
 */
export type NemesisRow = ReturnType<typeof rowOf>;

function rowOf({ name, description, kind }: Nemesis, results: readonly Result[]) {
  const { attacks, locks, availability, longestGapMs, overlaps, lostPlain, lostFenced, refused } = figuresOf(results);
  const [worst] = results.toSorted((a, b) => harmOf(b) - harmOf(a));
  return {
    ...{ nemesis: name, description, kind, attacks, locks },
    ...{ availability: Math.floor(availability * 100) / 100, longestGapMs: Math.round(longestGapMs) },
    ...{ twoAtOnce: overlaps, lostWithoutTokens: lostPlain, lostWithTokens: lostFenced, refused },
    happened: worst && harmOf(worst) > 0 ? eventsOf(worst) : [],
  };
}

function harmOf({ findings }: Result): number {
  return 1_000 * findings.violations.length + 10 * findings.overlaps.length + findings.lostPlain;
}
