/**
 * Gives each test file its own modules: core draws random bytes ahead, so that seeded tests would otherwise depend on the
 * files before them. In each test, checks W8 after every step of a virtual clock: nobody sleeps forever.
 */
import { beforeEach, vi } from "vitest";

vi.resetModules();

const { VirtualClock } = await import("@holdfast/testkit");
const { watchForSleepers } = await import("@holdfast/testkit/sleepers");

beforeEach(() => {
  const findSleeper = watchForSleepers();
  VirtualClock.afterEachStep = (nowMs) => {
    const sleeper = findSleeper(nowMs);
    if (sleeper !== undefined) throw new Error(sleeper);
  };
});
