import type { Clock } from "@holdfast/core";
import type { VirtualClock } from "@holdfast/testkit";

/** A clock with the timers of a virtual clock, and a wall clock that stands still. */
export function withWallClock(clock: VirtualClock, wallMs: number): Clock {
  return {
    monotonicMs: () => clock.monotonicMs(),
    wallMs: () => wallMs,
    startTimer: clock.startTimer.bind(clock),
    afterPendingIo: clock.afterPendingIo.bind(clock),
  };
}
