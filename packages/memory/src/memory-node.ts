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
import { type Claim, type ClaimRequest, Claims } from "./claims.ts";
import { createWaitingLists, type WaitingLists } from "./waiting-lists.ts";

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
  return new Memory(name, clock, new Claims(clock, fenceTtlMs, counters));
}

type OnReleased = (resource: string, next: string | undefined) => void;

/** The methods of the contract are properties, so that `{ ...node }` has them. */
class Memory implements MemoryNode {
  readonly name: string;
  readonly #clock: Pick<Clock, "monotonicMs" | "wallMs">;
  readonly #claims: Claims;
  readonly #waitingLists: WaitingLists;
  readonly #watchers = new Map<string, Set<OnReleased>>();
  #floor = 0;
  #epoch = 0;

  constructor(name: string, clock: Pick<Clock, "monotonicMs" | "wallMs">, claims: Claims) {
    this.name = name;
    this.#clock = clock;
    this.#claims = claims;
    this.#waitingLists = createWaitingLists(clock);
  }

  readonly acquire: MemoryNode["acquire"] = async (request) => {
    assertAcquire(request);
    const { resources, owner, ttlMs, fenceHint, shared = false, epoch: clientEpoch = 1, waiter } = request;
    const nodeEpoch = this.#epoch;
    if (nodeEpoch > 0 && Math.abs(clientEpoch - nodeEpoch) > 1) throw new EpochError(nodeEpoch, clientEpoch);
    const nowMs = this.#clock.monotonicMs();
    if (this.#isHeldBy(owner, resources, nowMs)) return { granted: true, fence: this.#highestFence(resources) };
    const denial = this.#denialOf(request, nowMs);
    if (denial !== undefined) return denial;
    for (const resource of resources) {
      if (waiter !== undefined) this.#waitingLists.remove(resource, waiter, shared);
      if (!shared) this.#waitingLists.endReservation(resource);
    }
    const highest = Math.max(this.#floor, this.#highestFence(resources));
    const hint = Math.min(fenceHint, Math.floor(this.#clock.wallMs() * 1000) + maxHintAheadUs);
    const fence = this.#claims.joins(request, nowMs) ? highest : Math.max(1 + highest, hint);
    const granted = this.#grant(request, nowMs, nowMs + ttlMs, fence);
    return { granted: true, fence: granted, ...(resources.length > 1 && { uniform: true }) };
  };

  readonly extend: MemoryNode["extend"] = async (request) => {
    assertExtend(request);
    const { resources, owner, ttlMs, fence, rejoin, shared = false } = request;
    const nowMs = this.#clock.monotonicMs();
    if (this.#isHeldBy(owner, resources, nowMs)) {
      for (const resource of resources) this.#claims.extend(resource, owner, nowMs + ttlMs, fence);
      return { held: true, fence: this.#highestFence(resources) };
    }
    const blocking = resources
      .filter((resource) => !(shared && this.#claims.areShared(resource, nowMs)))
      .flatMap((resource) => this.#claims.longestOn(resource, nowMs, owner) ?? []);
    const rejoined = rejoin && blocking.length === 0;
    if (rejoined) {
      const least = this.#highestFence(resources) + (this.#claims.joins(request, nowMs) ? 0 : 1);
      this.#grant(request, nowMs, nowMs + ttlMs, Math.max(least, fence));
    }
    return { held: false, rejoined, ...(blocking[0] && { holder: blocking[0].owner }) };
  };

  readonly release: MemoryNode["release"] = async (request) => {
    assertRelease(request);
    const { resources, owner, waiter, undo } = request;
    const nowMs = this.#clock.monotonicMs();
    const held = new Set(resources.filter((resource) => this.#claims.endOf(resource, owner, nowMs) !== undefined));
    let next: string | undefined;
    for (const resource of resources) {
      const wasShared = this.#claims.areShared(resource, nowMs);
      this.#claims.end(resource, owner); // an expired claim as well, which a clock that is set back would revive
      if (!held.has(resource)) continue;
      if (undo || this.#claims.areShared(resource, nowMs)) continue;
      const named = this.#waitingLists.takeNext(resource, wasShared, waiter);
      this.#announce(resource, named.length > 0 ? named : [undefined]);
      next ??= named[0];
    }
    return { released: held.size > 0, ...(next !== undefined && { next }) };
  };

  readonly watch: MemoryNode["watch"] = async (resources, onReleased) => {
    // A new function for each watch, in case the same `onReleased` watches twice.
    const watcher = (resource: string, next: string | undefined): void => onReleased(resource, next);
    for (const resource of resources) {
      this.#watchers.set(resource, (this.#watchers.get(resource) ?? new Set()).add(watcher));
    }
    return async () => {
      for (const resource of resources) {
        this.#watchers.get(resource)?.delete(watcher);
        if (this.#watchers.get(resource)?.size === 0) this.#watchers.delete(resource);
      }
    };
  };

  readonly close: MemoryNode["close"] = async () => {
    this.#watchers.clear();
  };

  readonly inspect: MemoryNode["inspect"] = async (resource) => {
    const nowMs = this.#clock.monotonicMs();
    const { owner = null, endMs } = this.#claims.longestOn(resource, nowMs) ?? {};
    const sharers = this.#claims.sharedOn(resource, nowMs).map((claim) => {
      return { owner: claim.owner, remainingMs: claim.endMs - nowMs };
    });
    return {
      owner,
      remainingMs: endMs === undefined ? null : endMs - nowMs,
      ...(sharers.length > 0 && { sharers }),
      fence: this.#claims.fenceOf(resource),
      ...(this.#floor > 0 && { floor: this.#floor }),
    };
  };

  readonly raiseFloor: MemoryNode["raiseFloor"] = async (request) => {
    assertFloor(request);
    const lowest = this.#claims.raiseAll(request.floor);
    if (lowest === undefined) this.#floor = Math.max(this.#floor, request.floor);
    this.#epoch = Math.max(this.#epoch, request.epoch);
    return { floor: lowest ?? this.#floor, epoch: this.#epoch };
  };

  readonly scan: MemoryNode["scan"] = async ({ cursor: given, claims: wantsClaims = true }) => {
    const { fences, resources, cursor } = this.#claims.scan(given, wantsClaims);
    const nowMs = this.#clock.monotonicMs();
    const claimsOf = (resource: string) => {
      const exclusive = this.#claims.longestOn(resource, nowMs);
      const shared = this.#claims.sharedOn(resource, nowMs);
      const all = shared.length > 0 || exclusive === undefined ? shared : [exclusive];
      return all.map(({ owner, endMs }) => ({ resource, owner, remainingMs: endMs - nowMs }));
    };
    return {
      counters: fences.length,
      highest: Math.max(0, ...fences),
      claims: resources.flatMap(claimsOf),
      ...(cursor !== undefined && { cursor }),
    };
  };

  #isHeldBy(owner: string, resources: readonly string[], nowMs: number): boolean {
    return resources.every((resource) => this.#claims.endOf(resource, owner, nowMs) !== undefined);
  }

  /** No call takes as many arguments as a request may name resources. */
  #highestFence(resources: readonly string[]): number {
    return resources.reduce((highest, resource) => Math.max(highest, this.#claims.fenceOf(resource)), 0);
  }

  /**
   * Returns what keeps a request from the resource for longest: a claim, or the reservation for an exclusive waiter
   * while others share it.
   */
  #blockerOf(resource: string, request: AcquireRequest, nowMs: number): Claim | undefined {
    const { owner, takeover, shared = false } = request;
    const claims = this.#claims;
    if (!shared || !claims.areShared(resource, nowMs)) return claims.longestOn(resource, nowMs, takeover);
    const ownEndMs = claims.endOf(resource, owner, nowMs);
    if (ownEndMs !== undefined) return { owner, endMs: ownEndMs };
    const endMs = this.#waitingLists.reservedUntil(resource);
    const longest = claims.longestOn(resource, nowMs);
    return endMs === undefined || longest === undefined ? undefined : { owner: longest.owner, endMs };
  }

  #grant(request: ClaimRequest, nowMs: number, endMs: number, fence: number): number {
    if (!Number.isSafeInteger(fence)) throw new RangeError(`the fence counter of ${request.resources} is used up`);
    this.#claims.grant(request, nowMs, endMs, fence);
    return fence;
  }

  #announce(resource: string, named: readonly (string | undefined)[]): void {
    for (const next of named) {
      for (const onReleased of this.#watchers.get(resource) ?? []) queueMicrotask(() => onReleased(resource, next));
    }
  }

  /** Returns the denial if anything blocks the request. */
  #denialOf(request: AcquireRequest, nowMs: number): Denial | undefined {
    const { resources, owner, waiter } = request;
    let last: Claim | undefined;
    const heldResources: string[] = [];
    for (const resource of resources) {
      const blocker = this.#blockerOf(resource, request, nowMs);
      if (blocker === undefined) continue;
      if (last === undefined || blocker.endMs > last.endMs) last = blocker;
      // A claim of the same owner also blocks a request for more resources, but does not block other callers.
      if (blocker.owner !== owner) heldResources.push(resource);
    }
    if (last === undefined) return undefined;
    if (waiter !== undefined) this.#waitFor(request, waiter, nowMs);
    const holder = last.owner !== owner && { holder: last.owner };
    const retryAfterMs = last.endMs - nowMs;
    return { granted: false, retryAfterMs, ...holder, ...(heldResources.length > 0 && { heldResources }) };
  }

  /**
   * Adds the waiter to the lists of the held resources, and removes it from the others, where it would delay waiters.
   */
  #waitFor({ resources, takeover, shared = false }: AcquireRequest, waiter: string, nowMs: number): void {
    const claims = this.#claims;
    const waitingLists = this.#waitingLists;
    for (const resource of resources) {
      if (claims.longestOn(resource, nowMs, takeover) !== undefined) {
        waitingLists.add(resource, waiter, shared, claims.fenceOf(resource));
        if (!shared && claims.areShared(resource, nowMs)) waitingLists.reserve(resource);
        continue;
      }
      waitingLists.remove(resource, waiter, shared);
      this.#announce(resource, waitingLists.takeNext(resource));
    }
  }
}

function checkCounters(counters: number): void {
  checkType("counters", "number", counters);
  if (counters === Infinity || (Number.isInteger(counters) && counters >= 1 && counters <= countersMax)) return;
  throw new RangeError(`counters must be an integer from 1 to ${countersMax}, or Infinity, not ${counters}`);
}
