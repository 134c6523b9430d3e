import { expect } from "vitest";
import { claimWhenFree, clockGrainMs, type World } from "./world.ts";

/**
 * Waits until a resource is free, and fails if its claim ended before the ttl. Also fails if it ended late, where the
 * end can be observed to the millisecond.
 *
 * @param startMs the time just before the request was sent: the node's count starts later, never earlier
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
