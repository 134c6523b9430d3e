import type { LockPair } from "@holdfast/history/checks";
import { brokenPromises, checksOf } from "./history/checks.ts";
import { gapsOf } from "./history/gaps.ts";
import type { History, Visit } from "./history/visit.ts";
import type { Nemesis } from "./nemeses/nemesis.ts";
import type { Slice } from "./schedule.ts";

/** The results of an attack. */
export interface Findings {
  readonly locks: number;
  readonly availability: number;
  readonly longestGapMs: number;
  readonly overlaps: readonly LockPair<Visit>[];
  /** Updates lost in the set without tokens. */
  readonly lostPlain: number;
  /** Updates lost in the set that checks tokens. */
  readonly lostFenced: number;
  /** Reads and writes that the set with tokens refused. */
  readonly refused: number;
  /** Violations under this nemesis, in words; empty if there are none. */
  readonly violations: readonly string[];
}

/** An attack and its results. */
export interface Result {
  readonly slice: Slice;
  readonly history: History;
  readonly findings: Findings;
  /** The start, in milliseconds since the start of the first attack. */
  readonly atMs: number;
}

/** Checks the record of an attack. */
export function judge({ kind }: Nemesis, { visits, sets, fromMs, toMs, stuck }: History): Findings {
  const checks = checksOf(visits, sets);
  const { availability, longestMs } = gapsOf(visits, fromMs, toMs);
  return {
    locks: visits.length,
    availability,
    longestGapMs: longestMs,
    overlaps: checks.overlaps,
    lostPlain: checks.lostPlain.length,
    lostFenced: checks.lostFenced.length,
    refused: visits.filter(({ fenced }) => fenced === "refused").length,
    violations: [...stuck, ...brokenPromises([checks], kind === "survivable")],
  };
}
