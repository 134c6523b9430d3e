import type { Result } from "../run.ts";

/** The sums over several attacks. */
export interface Figures {
  readonly attacks: number;
  readonly locks: number;
  readonly failedCalls: number;
  readonly availability: number;
  readonly longestGapMs: number;
  readonly overlaps: number;
  readonly lostPlain: number;
  readonly lostFenced: number;
  readonly refused: number;
  readonly tokenFaults: number;
  readonly violations: number;
}

/** Adds up the results. */
export function figuresOf(results: readonly Result[]): Figures {
  const sum = (of: (result: Result) => number): number => results.reduce((total, result) => total + of(result), 0);
  const lastedMs = ({ history }: Result): number => history.toMs - history.fromMs;
  return {
    attacks: results.length,
    locks: sum(({ findings }) => findings.locks),
    failedCalls: sum(({ findings }) => findings.failedCalls),
    availability: sum((result) => result.findings.availability * lastedMs(result)) / (sum(lastedMs) || 1),
    longestGapMs: Math.max(0, ...results.map(({ findings }) => findings.longestGapMs)),
    overlaps: sum(({ findings }) => findings.overlaps.length),
    lostPlain: sum(({ findings }) => findings.lostPlain),
    lostFenced: sum(({ findings }) => findings.lostFenced),
    refused: sum(({ findings }) => findings.refused),
    tokenFaults: sum(({ findings }) => findings.tokenFaults),
    violations: sum(({ findings }) => findings.violations.length),
  };
}
