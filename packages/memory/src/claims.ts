import type { Clock } from "@holdfast/core";
import type { NodeRequest } from "@holdfast/core/node";
import { firstCursor, type Numbered, portionOf } from "./scan.ts";
import { createSharedCounters } from "./shared-counters.ts";
import { createSweep } from "./sweep.ts";

/** A claim in force. */
export interface Claim {
  readonly owner: string;
  readonly endMs: number;
}

/** A request that makes a claim. */
export interface ClaimRequest extends Pick<NodeRequest, "resources" | "owner"> {
  readonly takeover?: string;
  readonly shared?: boolean;
}

/**
 * The claims and fence counters of all resources. Methods get the time from the caller, which reads it once for each
 * call of the node, so that no claim expires during the call.
 */
export interface Claims {
  /** Returns when the owner's claim on a resource ends; undefined if it has none. */
  endOf(resource: string, owner: string, nowMs: number): number | undefined;
  /** Returns the claim on a resource that lasts longest, ignoring those of one owner. */
  longestOn(resource: string, nowMs: number, ignoredOwner?: string): Claim | undefined;
  /** Returns whether shared claims are in force on a resource. */
  areShared(resource: string, nowMs: number): boolean;
  /** Returns the shared claims on a resource, those that last longest first; none if it is free or held exclusively. */
  sharedOn(resource: string, nowMs: number): readonly Claim[];
  /** Returns whether a request would share every one of its resources with other owners. */
  joins(request: ClaimRequest, nowMs: number): boolean;
  /** Claims the resources until `endMs`, replaces the claims of `takeover`, and sets the counters. */
  grant(request: ClaimRequest, nowMs: number, endMs: number, fence: number): void;
  /** Keeps the owner's claim on a resource until `endMs`, if that is later, and raises the counter. */
  extend(resource: string, owner: string, endMs: number, fence: number): void;
  /** Ends the owner's claim on a resource, if it has one. */
  end(resource: string, owner: string): void;
  /** Returns the fence counter of a resource; 0 if there is none. */
  fenceOf(resource: string): number;
  /** Raises all counters if resources share them, and returns the lowest; undefined if each has its own. */
  raiseAll(atLeast: number): number | undefined;
  /** Returns the next counters, and the next resources that may have a claim; see `LockNode.scan`. */
  scan(cursor: string | undefined, wantsClaims: boolean): Scanned;
}

/** A portion of the counters and claims. */
export interface Scanned {
  readonly fences: readonly number[];
  readonly resources: readonly string[];
  readonly cursor: string | undefined;
}

/** The state of one resource: an exclusive claim, shared ones, or neither. */
interface Entry extends Numbered {
  /** The owner of the exclusive claim. */
  readonly owner: string | null;
  /** When the exclusive claim, or the last of the shared ones, ends, or would have ended without a release. */
  readonly endMs: number;
  readonly sharers: Sharers | null;
  readonly fence: number;
}

interface Sharers {
  /** When the claim of each owner ends. */
  readonly ends: Map<string, number>;
  readonly forgetEnded: () => void;
}

const unknown: Entry = { owner: null, endMs: -Infinity, sharers: null, fence: 0, number: -1 };

let setsMade = 0;

/**
 * Creates an empty set of claims. With a finite number of counters, the resources share them, forever. Otherwise each
 * has its own, which is kept for `fenceTtlMs` after the last claim would have ended.
 */
export function createClaims(clock: Pick<Clock, "monotonicMs">, fenceTtlMs: number, counters: number): Claims {
  const entries = new Map<string, Entry>();
  let added = 0;
  const id = `scan-${++setsMade}`;
  const sharedCounters = counters === Infinity ? undefined : createSharedCounters(counters, `counters-${setsMade}`);
  const keptMs = sharedCounters ? 0 : fenceTtlMs;
  const forgetUnused = createSweep(entries, ({ endMs }) => clock.monotonicMs() >= endMs + keptMs);

  const entryOf = (resource: string): Entry => entries.get(resource) ?? unknown;

  const newSharers = (): Sharers => {
    const ends = new Map<string, number>();
    return { ends, forgetEnded: createSweep(ends, (endMs) => clock.monotonicMs() >= endMs) };
  };

  /** Returns whether an owner other than these has a shared claim on the resource. */
  const isShared = (resource: string, nowMs: number, owner?: string, takeover?: string): boolean => {
    const { sharers } = entryOf(resource);
    if (sharers === null) return false;
    for (const [sharer, endMs] of sharers.ends) {
      if (endMs > nowMs && sharer !== owner && sharer !== takeover) return true;
    }
    return false;
  };

  /** Adds a shared claim to those in force. */
  const share = (resource: string, { owner, takeover }: ClaimRequest, nowMs: number, endMs: number) => {
    const entry = entryOf(resource);
    const sharers = entry.sharers !== null && isShared(resource, nowMs, takeover) ? entry.sharers : newSharers();
    if (takeover !== undefined) sharers.ends.delete(takeover);
    sharers.ends.set(owner, endMs);
    sharers.forgetEnded();
    return { owner: null, endMs: Math.max(entry.endMs, endMs), sharers };
  };

  return {
    endOf(resource, owner, nowMs) {
      const entry = entryOf(resource);
      const ownEndMs = entry.owner === owner ? entry.endMs : -Infinity;
      const endMs = entry.sharers === null ? ownEndMs : (entry.sharers.ends.get(owner) ?? -Infinity);
      return endMs > nowMs ? endMs : undefined;
    },

    longestOn(resource, nowMs, ignoredOwner) {
      const { owner, endMs, sharers } = entryOf(resource);
      if (sharers === null) {
        return owner === null || owner === ignoredOwner || endMs <= nowMs ? undefined : { owner, endMs };
      }
      let longest: Claim | undefined;
      for (const [sharer, sharerEndMs] of sharers.ends) {
        if (sharer === ignoredOwner || sharerEndMs <= Math.max(nowMs, longest?.endMs ?? nowMs)) continue;
        longest = { owner: sharer, endMs: sharerEndMs };
      }
      return longest;
    },

    areShared: (resource, nowMs) => isShared(resource, nowMs),

    sharedOn(resource, nowMs) {
      const { ends } = entryOf(resource).sharers ?? { ends: new Map<string, number>() };
      const inForce = [...ends].map(([owner, endMs]) => ({ owner, endMs })).filter(({ endMs }) => endMs > nowMs);
      return inForce.sort((a, b) => b.endMs - a.endMs);
    },

    joins: ({ resources, owner, takeover, shared = false }, nowMs) =>
      shared && resources.every((resource) => isShared(resource, nowMs, owner, takeover)),

    grant(request, nowMs, endMs, fence) {
      const { resources, owner, shared = false } = request;
      for (const resource of resources) {
        const claim = shared ? share(resource, request, nowMs, endMs) : { owner, endMs, sharers: null };
        const { number } = entries.get(resource) ?? { number: added++ };
        entries.set(resource, { ...claim, fence, number });
        sharedCounters?.raise(resource, fence);
        forgetUnused();
      }
    },

    extend(resource, owner, endMs, atLeast) {
      const entry = entryOf(resource);
      const { ends } = entry.sharers ?? {};
      ends?.set(owner, Math.max(ends.get(owner) ?? endMs, endMs));
      entries.set(resource, { ...entry, endMs: Math.max(entry.endMs, endMs), fence: Math.max(entry.fence, atLeast) });
      sharedCounters?.raise(resource, atLeast);
    },

    end(resource, owner) {
      const entry = entryOf(resource);
      if (entry.sharers !== null) entry.sharers.ends.delete(owner);
      else if (entry.owner === owner) entries.set(resource, { ...entry, owner: null });
    },

    fenceOf: (resource) => sharedCounters?.fenceOf(resource) ?? entryOf(resource).fence,

    raiseAll(atLeast) {
      sharedCounters?.raiseAll(atLeast);
      return sharedCounters?.lowest();
    },

    scan(given, wantsClaims) {
      if (sharedCounters && (given === undefined || sharedCounters.continues(given))) {
        const { fences, cursor = wantsClaims ? firstCursor(id, added) : undefined } = sharedCounters.scan(given);
        return { fences, resources: [], cursor };
      }
      const { keys, cursor } = portionOf(entries, id, added, given);
      const fences = sharedCounters ? [] : keys.map((resource) => entryOf(resource).fence);
      return { fences, resources: wantsClaims ? keys : [], cursor };
    },
  };
}
