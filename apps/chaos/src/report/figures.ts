import type { Result } from "../judge.ts";

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
