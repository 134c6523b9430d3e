import { gapsOf } from "./history/gaps.ts";
import { lossesOf } from "./history/losses.ts";
import { type Overlap, overlapsOf } from "./history/overlaps.ts";
import { tokenFaultsOf } from "./history/tokens.ts";
import type { History } from "./history/visit.ts";
import type { Nemesis } from "./nemeses/nemesis.ts";

/** The results of an attack. */
export interface Findings {
  readonly locks: number;
  readonly availability: number;
  readonly longestGapMs: number;
  readonly overlaps: readonly Overlap[];
  /** Updates lost in the set without tokens. */
  readonly lostPlain: number;
  /** Writes there that took effect, or may have, after the lock had ended. */
  readonly latePlain: number;
  /** Updates lost in the set that checks tokens. */
  readonly lostFenced: number;
  /** Reads and writes that the set with tokens refused. */
  readonly refused: number;
  readonly tokenFaults: number;
  /** Violations under this nemesis, in words; empty if there are none. */
  readonly violations: readonly string[];
}

/** Checks the record of an attack. */
export function judge(nemesis: Nemesis, history: History): Findings {
  const { visits, sets } = history;
  const losses = lossesOf(visits, sets);
  const gaps = gapsOf(visits, history.fromMs, history.toMs);
  const findings = {
    locks: visits.length,
    availability: gaps.availability,
    longestGapMs: gaps.longestMs,
    overlaps: overlapsOf(visits),
    lostPlain: losses.plain.length,
    latePlain: visits.filter(({ plain }) => plain === "late").length,
    lostFenced: losses.fenced.length,
    refused: visits.filter(({ fenced }) => fenced === "refused").length,
    tokenFaults: tokenFaultsOf(visits).length,
  };
  return { ...findings, violations: [...history.stuck, ...violationsOf(nemesis, findings)] };
}

function violationsOf({ kind }: Nemesis, findings: Omit<Findings, "violations">): string[] {
  const { overlaps, lostPlain, latePlain, lostFenced, tokenFaults } = findings;
  const found: string[] = [];
  const expectNone = (count: number, what: string): void => {
    if (count > 0) found.push(`${what}: ${count}`);
  };
  expectNone(tokenFaults, "tokens that are not larger than all before");
  expectNone(lostFenced, "updates lost though the set checks tokens");
  if (kind === "lock-breaking") return found;
  expectNone(overlaps.length, "grants while another client held the lock");
  // The lock is not to blame for a write after its end: any busy machine may pause a process.
  if (latePlain === 0) expectNone(lostPlain, "updates lost though the lock was held all the time");
  return found;
}
