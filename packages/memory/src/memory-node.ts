import { type Clock, EpochError, systemClock } from "@holdfast/core";
import {
  type AcquireRequest,
  assertAcquire,
  assertExtend,
  assertFloor,
  assertOptions,
  assertRelease,
  checkMethods,
  checkType,
  type Denial,
  type LockNode,
} from "@holdfast/core/node";
import { type Claim, type ClaimRequest, createClaims } from "./claims.ts";
import { createWaitingLists } from "./waiting-lists.ts";

/** A lock node with all the optional methods. */
export type MemoryNode = Required<Omit<LockNode, "verifiesServer" | "suggestedTimeoutMs">>;

/** The options of {@link memoryNode}. */
export interface MemoryNodeOptions {
  /** The node's name. Default `memory-1`, `memory-2`, … */
  readonly name?: string | undefined;
  /** The clocks to read. Claims expire by the monotonic clock. Default: the clocks of this process. */
  readonly clock?: Pick<Clock, "monotonicMs" | "wallMs"> | undefined;
  /**
   * How long the node keeps a fence counter after its last claim would have expired, in milliseconds. Default: 24
   * hours. `Infinity` keeps it forever. No effect with a finite number of `counters`, which are kept forever.
   */
  readonly fenceTtlMs?: number | undefined;
  /**
   * How many fence counters all resources share, by a hash of the name: an integer from 1 to 16 384. `raiseFloor` then
   * raises all of them. Default: `Infinity`, one for each resource, and a floor of its own.
   */
  readonly counters?: number | undefined;
}

const dayMs = 24 * 60 * 60 * 1000;
const maxHintAheadUs = dayMs * 1000;
const countersMax = 16_384;
let nodesMade = 0;

/**
 * Creates a lock node whose claims live in this process: for locks within one process, for tests, and as a reference
 * implementation of the `LockNode` contract. Callers exclude each other only if they share the node object.
 *
 * @param options see {@link MemoryNodeOptions}
 * @throws {TypeError | RangeError} naming the bad option
 *
 * @example
 * ```ts
 * const redlock = new Redlock([memoryNode({ name: "local" })]);
 * await redlock.using("invoice:42", () => console.log("alone with it"));
 * ```
 */
export function memoryNode(options: MemoryNodeOptions = {}): MemoryNode {
  assertOptions(options, ["name", "clock", "fenceTtlMs", "counters"], "memoryNode");
  nodesMade += 1;
  const { name = `memory-${nodesMade}`, clock = systemClock, fenceTtlMs = dayMs, counters = Infinity } = options;
  checkMethods("clock", ["monotonicMs", "wallMs"], clock);
  checkType("name", "string", name);
  checkType("fenceTtlMs", "number", fenceTtlMs);
  if (!(fenceTtlMs >= 0)) throw new RangeError(`fenceTtlMs must be at least 0, not ${fenceTtlMs}`);
  checkCounters(counters);
  const watchers = new Map<string, Set<(resource: string, next: string | undefined) => void>>();
  const claims = createClaims(clock, fenceTtlMs, counters);
  const waitingLists = createWaitingLists(clock);
  let floor = 0;
  let epoch = 0;

  const isHeldBy = (owner: string, resources: readonly string[], nowMs: number): boolean =>
    resources.every((resource) => claims.endOf(resource, owner, nowMs) !== undefined);
  // No call takes as many arguments as a request may name resources.
  const highestFence = (resources: readonly string[]): number =>
    resources.reduce((highest, resource) => Math.max(highest, claims.fenceOf(resource)), 0);

  /**
   * Returns what keeps a request from the resource for longest: a claim, or the reservation for an exclusive waiter
   * while others share it.
   */
  const blockerOf = (resource: string, request: AcquireRequest, nowMs: number): Claim | undefined => {
    const { owner, takeover, shared = false } = request;
    if (!shared || !claims.areShared(resource, nowMs)) return claims.longestOn(resource, nowMs, takeover);
    const ownEndMs = claims.endOf(resource, owner, nowMs);
    if (ownEndMs !== undefined) return { owner, endMs: ownEndMs };
    const endMs = waitingLists.reservedUntil(resource);
    const longest = claims.longestOn(resource, nowMs);
    return endMs === undefined || longest === undefined ? undefined : { owner: longest.owner, endMs };
  };

  const grant = (request: ClaimRequest, nowMs: number, endMs: number, fence: number): number => {
    if (!Number.isSafeInteger(fence)) throw new RangeError(`the fence counter of ${request.resources} is used up`);
    claims.grant(request, nowMs, endMs, fence);
    return fence;
  };

  const announce = (resource: string, named: readonly (string | undefined)[]): void => {
    for (const next of named) {
      for (const onReleased of watchers.get(resource) ?? []) queueMicrotask(() => onReleased(resource, next));
    }
  };
  /**
   * Adds the waiter to the lists of the held resources, and removes it from the others, where it would delay waiters.
   */
  const waitFor = ({ resources, takeover, shared = false }: AcquireRequest, waiter: string, nowMs: number): void => {
    for (const resource of resources) {
      if (claims.longestOn(resource, nowMs, takeover) !== undefined) {
        waitingLists.add(resource, waiter, shared, claims.fenceOf(resource));
        if (!shared && claims.areShared(resource, nowMs)) waitingLists.reserve(resource);
        continue;
      }
      waitingLists.remove(resource, waiter, shared);
      announce(resource, waitingLists.takeNext(resource));
    }
  };

  /** Denies the request if anything blocks it. */
  const denialOf = (request: AcquireRequest, nowMs: number): Denial | undefined => {
    const { resources, owner, waiter } = request;
    let last: Claim | undefined;
    const heldResources: string[] = [];
    for (const resource of resources) {
      const blocker = blockerOf(resource, request, nowMs);
      if (blocker === undefined) continue;
      if (last === undefined || blocker.endMs > last.endMs) last = blocker;
      // A claim of the same owner also blocks a request for more resources, but does not block other callers.
      if (blocker.owner !== owner) heldResources.push(resource);
    }
    if (last === undefined) return undefined;
    if (waiter !== undefined) waitFor(request, waiter, nowMs);
    const holder = last.owner !== owner && { holder: last.owner };
    const retryAfterMs = last.endMs - nowMs;
    return { granted: false, retryAfterMs, ...holder, ...(heldResources.length > 0 && { heldResources }) };
  };

  return {
    name,

    async acquire(request) {
      assertAcquire(request);
      const { resources, owner, ttlMs, fenceHint, shared = false, epoch: clientEpoch = 1, waiter } = request;
      if (epoch > 0 && Math.abs(clientEpoch - epoch) > 1) throw new EpochError(epoch, clientEpoch);
      const nowMs = clock.monotonicMs();
      if (isHeldBy(owner, resources, nowMs)) return { granted: true, fence: highestFence(resources) };
      const denial = denialOf(request, nowMs);
      if (denial !== undefined) return denial;
      for (const resource of resources) {
        if (waiter !== undefined) waitingLists.remove(resource, waiter, shared);
        if (!shared) waitingLists.endReservation(resource);
      }
      const highest = Math.max(floor, highestFence(resources));
      const hint = Math.min(fenceHint, Math.floor(clock.wallMs() * 1000) + maxHintAheadUs);
      const fence = claims.joins(request, nowMs) ? highest : Math.max(1 + highest, hint);
      return { granted: true, fence: grant(request, nowMs, nowMs + ttlMs, fence) };
    },

    async extend(request) {
      assertExtend(request);
      const { resources, owner, ttlMs, fence, rejoin, shared = false } = request;
      const nowMs = clock.monotonicMs();
      if (isHeldBy(owner, resources, nowMs)) {
        for (const resource of resources) claims.extend(resource, owner, nowMs + ttlMs, fence);
        return { held: true, fence: highestFence(resources) };
      }
      const isBlocked = (resource: string): boolean =>
        !(shared && claims.areShared(resource, nowMs)) && claims.longestOn(resource, nowMs, owner) !== undefined;
      const rejoined = rejoin && !resources.some(isBlocked);
      if (rejoined) {
        const least = highestFence(resources) + (claims.joins(request, nowMs) ? 0 : 1);
        grant(request, nowMs, nowMs + ttlMs, Math.max(least, fence));
      }
      return { held: false, rejoined };
    },

    async release(request) {
      assertRelease(request);
      const { resources, owner, waiter, undo } = request;
      const nowMs = clock.monotonicMs();
      const held = resources.filter((resource) => claims.endOf(resource, owner, nowMs) !== undefined);
      let next: string | undefined;
      for (const resource of resources) {
        const wasShared = claims.areShared(resource, nowMs);
        claims.end(resource, owner); // an expired claim as well, which a clock that is set back would revive
        if (!held.includes(resource)) continue;
        if (undo || claims.areShared(resource, nowMs)) continue;
        const named = waitingLists.takeNext(resource, wasShared, waiter);
        announce(resource, named.length > 0 ? named : [undefined]);
        next ??= named[0];
      }
      return { released: held.length > 0, ...(next !== undefined && { next }) };
    },

    async watch(resources, onReleased) {
      // A new function for each watch, in case the same `onReleased` watches twice.
      const watcher = (resource: string, next: string | undefined): void => onReleased(resource, next);
      for (const resource of resources) {
        watchers.set(resource, (watchers.get(resource) ?? new Set()).add(watcher));
      }
      return async () => {
        for (const resource of resources) {
          watchers.get(resource)?.delete(watcher);
          if (watchers.get(resource)?.size === 0) watchers.delete(resource);
        }
      };
    },

    async close() {
      watchers.clear();
    },

    async inspect(resource) {
      const nowMs = clock.monotonicMs();
      const { owner = null, endMs } = claims.longestOn(resource, nowMs) ?? {};
      const sharers = claims.sharedOn(resource, nowMs).map((claim) => {
        return { owner: claim.owner, remainingMs: claim.endMs - nowMs };
      });
      return {
        owner,
        remainingMs: endMs === undefined ? null : endMs - nowMs,
        ...(sharers.length > 0 && { sharers }),
        fence: claims.fenceOf(resource),
        ...(floor > 0 && { floor }),
      };
    },

    async raiseFloor(request) {
      assertFloor(request);
      const lowest = claims.raiseAll(request.floor);
      if (lowest === undefined) floor = Math.max(floor, request.floor);
      epoch = Math.max(epoch, request.epoch);
      return { floor: lowest ?? floor, epoch };
    },

    async scan({ cursor: given, claims: wantsClaims = true }) {
      const { fences, resources, cursor } = claims.scan(given, wantsClaims);
      const nowMs = clock.monotonicMs();
      const claimsOf = (resource: string) => {
        const exclusive = claims.longestOn(resource, nowMs);
        const all = claims.areShared(resource, nowMs) ? claims.sharedOn(resource, nowMs) : exclusive ? [exclusive] : [];
        return all.map(({ owner, endMs }) => ({ resource, owner, remainingMs: endMs - nowMs }));
      };
      return {
        counters: fences.length,
        highest: Math.max(0, ...fences),
        claims: resources.flatMap(claimsOf),
        ...(cursor !== undefined && { cursor }),
      };
    },
  };
}

function checkCounters(counters: number): void {
  checkType("counters", "number", counters);
  if (counters === Infinity || (Number.isInteger(counters) && counters >= 1 && counters <= countersMax)) return;
  throw new RangeError(`counters must be an integer from 1 to ${countersMax}, or Infinity, not ${counters}`);
}
