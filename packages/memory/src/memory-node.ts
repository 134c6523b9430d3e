import { type Clock, type LockNode, systemClock } from "@holdfast/core";
import {
  assertAcquire,
  assertExtend,
  assertOptions,
  assertRelease,
  checkMethods,
  checkType,
} from "@holdfast/core/requests";
import { createSweep } from "./sweep.ts";
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
   * hours. `Infinity` keeps it forever.
   */
  readonly fenceTtlMs?: number | undefined;
}

/** The state of one resource. */
interface Entry {
  readonly owner: string | null;
  readonly expiresAtMs: number;
  readonly fence: number;
}

const unknown: Entry = { owner: null, expiresAtMs: 0, fence: 0 };
const dayMs = 24 * 60 * 60 * 1000;
const maxHintAheadUs = dayMs * 1000;
let nodesMade = 0;

/**
 * Creates a lock node whose claims live in this process: for locks within one process, for tests, and as a reference
 * implementation of the `LockNode` contract. Callers exclude each other only if they share the node object.
 *
 * @throws {TypeError | RangeError} naming the bad option
 *
 * @example
 * ```ts
 * const redlock = new Redlock([memoryNode({ name: "local" })]);
 * await redlock.using("invoice:42", () => console.log("alone with it"));
 * ```
 */
export function memoryNode(options: MemoryNodeOptions = {}): MemoryNode {
  assertOptions(options, ["name", "clock", "fenceTtlMs"], "memoryNode");
  nodesMade += 1;
  const { name = `memory-${nodesMade}`, clock = systemClock, fenceTtlMs = dayMs } = options;
  checkMethods("clock", ["monotonicMs", "wallMs"], clock);
  checkType("name", "string", name);
  checkType("fenceTtlMs", "number", fenceTtlMs);
  if (!(fenceTtlMs >= 0)) throw new RangeError(`fenceTtlMs must be at least 0, not ${fenceTtlMs}`);
  const entries = new Map<string, Entry>();
  const isUnused = ({ expiresAtMs }: Entry): boolean => clock.monotonicMs() >= expiresAtMs + fenceTtlMs;
  const forgetUnused = createSweep(entries, isUnused);
  const watchers = new Map<string, Set<(resource: string, next: string | undefined) => void>>();
  const waitingLists = createWaitingLists(clock);

  const entryOf = (resource: string): Entry => entries.get(resource) ?? unknown;

  /** Returns the current owner, or null. Each call reads the time once, so that no claim expires during the call. */
  const holderOf = (resource: string, nowMs: number): string | null => {
    const { owner, expiresAtMs } = entryOf(resource);
    return expiresAtMs > nowMs ? owner : null;
  };
  const isHeldBy = (owner: string, resources: readonly string[], nowMs: number): boolean =>
    resources.every((resource) => holderOf(resource, nowMs) === owner);
  const highestFence = (resources: readonly string[]): number =>
    Math.max(...resources.map((resource) => entryOf(resource).fence));

  const grant = (resources: readonly string[], owner: string, expiresAtMs: number, atLeast: number): number => {
    const fence = Math.max(1 + highestFence(resources), atLeast);
    if (!Number.isSafeInteger(fence)) throw new RangeError(`the fence counter of ${resources} is used up`);
    for (const resource of resources) {
      entries.set(resource, { owner, expiresAtMs, fence });
      forgetUnused();
    }
    return fence;
  };

  const announce = (resource: string, next: string | undefined): void => {
    for (const onReleased of watchers.get(resource) ?? []) queueMicrotask(() => onReleased(resource, next));
  };
  /**
   * Adds the waiter to the lists of the held resources, and removes it from the others, where it would delay waiters.
   */
  const waitFor = (blocking: readonly string[], resources: readonly string[], waiter: string): void => {
    for (const resource of resources) {
      if (blocking.includes(resource)) {
        waitingLists.add(resource, waiter, entryOf(resource).fence);
        continue;
      }
      waitingLists.remove(resource, waiter);
      const next = waitingLists.takeNext(resource);
      if (next !== undefined) announce(resource, next);
    }
  };

  return {
    name,

    async acquire(request) {
      assertAcquire(request);
      const { resources, owner, ttlMs, fenceHint, takeover, waiter } = request;
      const nowMs = clock.monotonicMs();
      if (isHeldBy(owner, resources, nowMs)) return { granted: true, fence: highestFence(resources) };
      const blocking = resources.filter((resource) => {
        const holder = holderOf(resource, nowMs);
        return holder !== null && holder !== takeover;
      });
      if (blocking.length > 0) {
        if (waiter !== undefined) waitFor(blocking, resources, waiter);
        const last = blocking.map(entryOf).reduce((a, b) => (b.expiresAtMs > a.expiresAtMs ? b : a));
        const retryAfterMs = last.expiresAtMs - nowMs;
        // A claim of the same owner also blocks a request for more resources, but does not block other callers.
        const heldResources = blocking.filter((resource) => holderOf(resource, nowMs) !== owner);
        const holder = last.owner !== null && last.owner !== owner && { holder: last.owner };
        return { granted: false, retryAfterMs, ...holder, ...(heldResources.length > 0 && { heldResources }) };
      }
      if (waiter !== undefined) for (const resource of resources) waitingLists.remove(resource, waiter);
      const hint = Math.min(fenceHint, Math.floor(clock.wallMs() * 1000) + maxHintAheadUs);
      return { granted: true, fence: grant(resources, owner, nowMs + ttlMs, hint) };
    },

    async extend(request) {
      assertExtend(request);
      const { resources, owner, ttlMs, fence, rejoin } = request;
      const nowMs = clock.monotonicMs();
      if (isHeldBy(owner, resources, nowMs)) {
        for (const resource of resources) {
          const entry = entryOf(resource);
          const expiresAtMs = Math.max(entry.expiresAtMs, nowMs + ttlMs);
          entries.set(resource, { owner, expiresAtMs, fence: Math.max(entry.fence, fence) });
        }
        return { held: true, fence: highestFence(resources) };
      }
      const rejoined = rejoin && resources.every((resource) => [null, owner].includes(holderOf(resource, nowMs)));
      if (rejoined) grant(resources, owner, nowMs + ttlMs, fence);
      return { held: false, rejoined };
    },

    async release(request) {
      assertRelease(request);
      const { resources, owner, waiter, undo } = request;
      const nowMs = clock.monotonicMs();
      const held = resources.filter((resource) => holderOf(resource, nowMs) === owner);
      let named: string | undefined;
      for (const resource of held) {
        entries.set(resource, { ...entryOf(resource), owner: null });
        if (undo) continue;
        const next = waitingLists.takeNext(resource, waiter);
        announce(resource, next);
        named ??= next;
      }
      return { released: held.length > 0, ...(named !== undefined && { next: named }) };
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
      const owner = holderOf(resource, nowMs);
      const { expiresAtMs, fence } = entryOf(resource);
      return { owner, remainingMs: owner === null ? null : expiresAtMs - nowMs, fence };
    },
  };
}
