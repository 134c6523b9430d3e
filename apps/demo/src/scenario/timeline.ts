/** The start of each act, in milliseconds from the start of the run. */
export interface Timeline {
  readonly firstKillMs: number;
  readonly secondKillMs: number;
  readonly firstRestartMs: number;
  readonly secondRestartMs: number;
  readonly pauseMs: number;
  readonly endMs: number;
}

/** Spreads the acts over a run. */
export function timelineOf(seconds: number): Timeline {
  const endMs = seconds * 1000;
  return {
    firstKillMs: 0.15 * endMs,
    secondKillMs: 0.25 * endMs,
    firstRestartMs: 0.45 * endMs,
    secondRestartMs: 0.5 * endMs,
    pauseMs: 0.6 * endMs,
    endMs,
  };
}
