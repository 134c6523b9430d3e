/** Checks W8 in each test, after every step of a virtual clock: nobody sleeps forever. */
import { beforeEach } from "vitest";

// The file has modules of its own, which an import above would load too early.
const { VirtualClock } = await import("@holdfast/testkit");
const { watchForSleepers } = await import("@holdfast/testkit/sleepers");

beforeEach(() => {
  const findSleeper = watchForSleepers();
  VirtualClock.afterEachStep = (nowMs) => {
    const sleeper = findSleeper(nowMs);
    if (sleeper !== undefined) throw new Error(sleeper);
  };
});
