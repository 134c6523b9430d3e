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

/** What `expect(…).toEqual()` accepts in place of a number. */
export interface FenceMatcher {
  asymmetricMatch(value: unknown): boolean;
  /** For messages. */
  toString(): string;
  toAsymmetricMatcher(): string;
}

/**
 * Matches a fence of a resource while other resources are used: `own` if the resource has a fence counter of its own,
 * and up to the highest of `shared` if other resources share it.
 *
 * @param shared the fence if all resources share one counter, or numbers of which the highest is no lower than that
 */
export function between(own: number, ...shared: readonly number[]): FenceMatcher {
  const highest = Math.max(own, ...shared);
  return matcher(`from ${own} to ${highest}`, (value) => (value as number) >= own && (value as number) <= highest);
}

/** Matches a fence of a claim that is older than a floor: as it was, or the floor if that has raised all counters. */
export function oneOf(...accepted: readonly (number | FenceMatcher)[]): FenceMatcher {
  const matches = (value: unknown) =>
    accepted.some((each) => (typeof each === "number" ? each === value : each.asymmetricMatch(value)));
  return matcher(accepted.join(" or "), matches);
}

/** Matches a fence after brief claims have expired: their witnesses may advance a shared counter, each twice. */
export function afterExpiry(own: number, expiries = 1): FenceMatcher {
  return between(own, own + 2 * expiries);
}

function matcher(text: string, asymmetricMatch: (value: unknown) => boolean): FenceMatcher {
  const toText = (): string => text;
  const printed = { $$typeof: Symbol.for("jest.asymmetricMatcher") };
  return { ...printed, asymmetricMatch, toString: toText, toAsymmetricMatcher: toText };
}
