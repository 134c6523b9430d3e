import { expect } from "vitest";
import { claimWhenFree, clockGrainMs, type World } from "./world.ts";

/**
 * Waits until a resource is free, and fails unless it was kept for the ttl: at the least, and at the most, too, where
 * the end can be seen on the millisecond.
 *
 * @param startMs when the request was about to be sent: the node's own count starts later, never earlier
 */
export async function expectKeptFor(world: World, resource: string, ttlMs: number, startMs: number): Promise<void> {
  await claimWhenFree(world, resource);
  const keptMs = world.elapsedMs() - startMs;
  expect(keptMs).toBeGreaterThanOrEqual(ttlMs - clockGrainMs);
  if (world.showsExactEnd) expect(keptMs).toBeLessThanOrEqual(ttlMs + clockGrainMs);
}

/** Fails unless each fence is larger than the one before it. */
export function expectStrictlyIncreasing(fences: readonly number[]): void {
  expect(fences).toEqual([...new Set(fences)].sort((one, other) => one - other));
}
