import type { Clock } from "@holdfast/core";
import type { NodeRequest } from "@holdfast/core/node";
import { firstCursor, type Numbered, portionOf } from "./scan.ts";
import { createSharedCounters, type SharedCounters } from "./shared-counters.ts";
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
 * The claims and fence counters of all resources. Methods get the time from the caller, which reads it once for each
 * call of the node, so that no claim expires during the call.
 */
export class Claims {
  readonly #clock: Pick<Clock, "monotonicMs">;
  readonly #entries = new Map<string, Entry>();
  readonly #id: string;
  readonly #sharedCounters: SharedCounters | undefined;
  readonly #forgetUnused: () => void;
  #added = 0;

  /**
   * Creates an empty set. With a finite number of counters, the resources share them, forever. Otherwise each has its own,
   * which is kept for `fenceTtlMs` after the last claim would have ended.
   */
  constructor(clock: Pick<Clock, "monotonicMs">, fenceTtlMs: number, counters: number) {
    this.#clock = clock;
    this.#id = `scan-${++setsMade}`;
    this.#sharedCounters = counters === Infinity ? undefined : createSharedCounters(counters, `counters-${setsMade}`);
    const keptMs = this.#sharedCounters ? 0 : fenceTtlMs;
    this.#forgetUnused = createSweep(this.#entries, ({ endMs }) => clock.monotonicMs() >= endMs + keptMs);
  }

  /** Returns when the owner's claim on a resource ends; undefined if it has none. */
  endOf(resource: string, owner: string, nowMs: number): number | undefined {
    const entry = this.#entryOf(resource);
    const ownEndMs = entry.owner === owner ? entry.endMs : -Infinity;
    const endMs = entry.sharers === null ? ownEndMs : (entry.sharers.ends.get(owner) ?? -Infinity);
    return endMs > nowMs ? endMs : undefined;
  }

  /** Returns the claim on a resource that lasts longest, ignoring those of one owner. */
  longestOn(resource: string, nowMs: number, ignoredOwner?: string): Claim | undefined {
    const { owner, endMs, sharers } = this.#entryOf(resource);
    if (sharers === null) {
      return owner === null || owner === ignoredOwner || endMs <= nowMs ? undefined : { owner, endMs };
    }
    let longest: Claim | undefined;
    for (const [sharer, sharerEndMs] of sharers.ends) {
      if (sharer === ignoredOwner || sharerEndMs <= Math.max(nowMs, longest?.endMs ?? nowMs)) continue;
      longest = { owner: sharer, endMs: sharerEndMs };
    }
    return longest;
  }

  /** Returns whether an owner other than these has a shared claim on the resource. */
  areShared(resource: string, nowMs: number, owner?: string, takeover?: string): boolean {
    const { sharers } = this.#entryOf(resource);
    if (sharers === null) return false;
    for (const [sharer, endMs] of sharers.ends) {
      if (endMs > nowMs && sharer !== owner && sharer !== takeover) return true;
    }
    return false;
  }

  /** Returns the shared claims on a resource, those that last longest first; none if it is free or held exclusively. */
  sharedOn(resource: string, nowMs: number): readonly Claim[] {
    const { ends } = this.#entryOf(resource).sharers ?? { ends: new Map<string, number>() };
    const inForce = [...ends].map(([owner, endMs]) => ({ owner, endMs })).filter(({ endMs }) => endMs > nowMs);
    return inForce.sort((a, b) => b.endMs - a.endMs);
  }

  /** Returns whether a request would share every one of its resources with other owners. */
  joins({ resources, owner, takeover, shared = false }: ClaimRequest, nowMs: number): boolean {
    return shared && resources.every((resource) => this.areShared(resource, nowMs, owner, takeover));
  }

  /** Claims the resources until `endMs`, replaces the claims of `takeover`, and sets the counters. */
  grant(request: ClaimRequest, nowMs: number, endMs: number, fence: number): void {
    const { resources, owner, shared = false } = request;
    for (const resource of resources) {
      const claim = shared ? this.#share(resource, request, nowMs, endMs) : { owner, endMs, sharers: null };
      const { number } = this.#entries.get(resource) ?? { number: this.#added++ };
      this.#entries.set(resource, { ...claim, fence, number });
      this.#sharedCounters?.raise(resource, fence);
      this.#forgetUnused();
    }
  }

  /** Keeps the owner's claim on a resource until `endMs`, if that is later, and raises the counter. */
  extend(resource: string, owner: string, endMs: number, fence: number): void {
    const entry = this.#entryOf(resource);
    const { ends } = entry.sharers ?? {};
    ends?.set(owner, Math.max(ends.get(owner) ?? endMs, endMs));
    const extended = { endMs: Math.max(entry.endMs, endMs), fence: Math.max(entry.fence, fence) };
    this.#entries.set(resource, { ...entry, ...extended });
    this.#sharedCounters?.raise(resource, fence);
  }

  /** Ends the owner's claim on a resource, if it has one. */
  end(resource: string, owner: string): void {
    const entry = this.#entryOf(resource);
    if (entry.sharers !== null) entry.sharers.ends.delete(owner);
    else if (entry.owner === owner) this.#entries.set(resource, { ...entry, owner: null });
  }

  /** Returns the fence counter of a resource; 0 if there is none. */
  fenceOf(resource: string): number {
    return this.#sharedCounters?.fenceOf(resource) ?? this.#entryOf(resource).fence;
  }

  /** Raises all counters if resources share them, and returns the lowest; undefined if each has its own. */
  raiseAll(atLeast: number): number | undefined {
    this.#sharedCounters?.raiseAll(atLeast);
    return this.#sharedCounters?.lowest();
  }

  /** Returns the next counters, and the next resources that may have a claim; see `LockNode.scan`. */
  scan(given: string | undefined, wantsClaims: boolean): Scanned {
    const counters = this.#sharedCounters;
    if (counters && (given === undefined || counters.continues(given))) {
      const { fences, cursor = wantsClaims ? firstCursor(this.#id, this.#added) : undefined } = counters.scan(given);
      return { fences, resources: [], cursor };
    }
    const { keys, cursor } = portionOf(this.#entries, this.#id, this.#added, given);
    const fences = counters ? [] : keys.map((resource) => this.#entryOf(resource).fence);
    return { fences, resources: wantsClaims ? keys : [], cursor };
  }

  #entryOf(resource: string): Entry {
    return this.#entries.get(resource) ?? unknown;
  }

  /** Adds a shared claim to those in force. */
  #share(
    resource: string,
    { owner, takeover }: ClaimRequest,
    nowMs: number,
    endMs: number,
  ): Omit<Entry, "fence" | "number"> {
    const entry = this.#entryOf(resource);
    const isJoining = entry.sharers !== null && this.areShared(resource, nowMs, takeover);
    const sharers = isJoining ? (entry.sharers as Sharers) : this.#newSharers();
    if (takeover !== undefined) sharers.ends.delete(takeover);
    sharers.ends.set(owner, endMs);
    sharers.forgetEnded();
    return { owner: null, endMs: Math.max(entry.endMs, endMs), sharers };
  }

  #newSharers(): Sharers {
    const ends = new Map<string, number>();
    return { ends, forgetEnded: createSweep(ends, (endMs) => this.#clock.monotonicMs() >= endMs) };
  }
}
