import type { Visit } from "./visit.ts";

/** Times in which no client held the lock, though all wanted it. */
export interface Gaps {
  readonly longestMs: number;
  /** The share of the time outside of gaps of more than 100 ms, from 0 to 1. */
  readonly availability: number;
}

/** A normal hand-over is shorter. */
const noticeableMs = 100;

/** Measures the gaps between two moments. */
export function gapsOf(visits: readonly Visit[], fromMs: number, toMs: number): Gaps {
  let longestMs = 0;
  let lostMs = 0;
  let heldUntilMs = fromMs;
  const count = (untilMs: number): void => {
    const gapMs = Math.min(untilMs, toMs) - heldUntilMs;
    longestMs = Math.max(longestMs, gapMs);
    if (gapMs > noticeableMs) lostMs += gapMs;
  };
  for (const visit of [...visits].sort((a, b) => a.grantedAtMs - b.grantedAtMs)) {
    count(visit.grantedAtMs);
    heldUntilMs = Math.max(heldUntilMs, visit.heldUntilMs);
  }
  count(toMs);
  return { longestMs, availability: 1 - lostMs / (toMs - fromMs) };
}
