import { type Clock, type LockNode, systemClock } from "@holdfast/core";
import { insistOnAcquire, insistOnExtend, insistOnRelease } from "@holdfast/core/requests";
import { createLines } from "./lines.ts";

/** A lock node with the optional methods as well. */
export type MemoryNode = Required<LockNode>;

/** See {@link memoryNode}. */
export interface MemoryNodeOptions {
  /** The node's name. Default `memory-1`, `memory-2`, … */
  readonly name?: string | undefined;
  /** Where the node reads the time. Claims expire by the monotonic clock. Default: the clocks of this process. */
  readonly clock?: Pick<Clock, "monotonicMs" | "wallMs"> | undefined;
  /**
   * How long a fence counter is kept after the claim that it belongs to should have ended, in milliseconds. Default
   * 24 hours; `Infinity` keeps it for ever.
   */
  readonly fenceTtlMs?: number | undefined;
}

/** What the node knows of one resource. */
interface Entry {
  owner: string | null;
  expiresAtMs: number;
  fence: number;
}

const dayMs = 24 * 60 * 60 * 1000;
const maxHintAheadUs = dayMs * 1000;
let nodesMade = 0;

/**
 * Makes a lock node whose claims live in this process: for one process, for tests, and to read what the contract of
 * `LockNode` means. All who are to exclude each other share the node object.
 *
 * @throws {TypeError | RangeError} if `fenceTtlMs` is not a number from 0
 */
export function memoryNode(options: MemoryNodeOptions = {}): MemoryNode {
  nodesMade += 1;
  const { name = `memory-${nodesMade}`, clock = systemClock, fenceTtlMs = dayMs } = options;
  if (typeof fenceTtlMs !== "number") throw new TypeError(`fenceTtlMs must be a number, not ${String(fenceTtlMs)}`);
  if (!(fenceTtlMs >= 0)) throw new RangeError(`fenceTtlMs must be at least 0, not ${fenceTtlMs}`);
  const entries = new Map<string, Entry>();
  const watchers = new Map<string, Set<(resource: string, next: string | undefined) => void>>();
  const lines = createLines(clock);

  const entryOf = (resource: string): Entry => entries.get(resource) ?? { owner: null, expiresAtMs: 0, fence: 0 };

  /** The owner whose claim has not expired, or null. Each call is judged at one moment: its claims cannot end on the way. */
  const holderOf = (resource: string, nowMs: number): string | null => {
    const { owner, expiresAtMs } = entryOf(resource);
    return expiresAtMs > nowMs ? owner : null;
  };
  const highestFence = (resources: readonly string[]): number =>
    Math.max(...resources.map((resource) => entryOf(resource).fence));

  const write = (resource: string, entry: Entry): void => {
    if (!Number.isSafeInteger(entry.fence)) throw new RangeError(`the fence counter of ${resource} is used up`);
    entries.delete(resource); // so that the entry goes to the end of the map
    entries.set(resource, entry);
  };
  const grant = (resources: readonly string[], owner: string, expiresAtMs: number, atLeast: number): number => {
    const fence = Math.max(1 + highestFence(resources), atLeast);
    for (const resource of resources) write(resource, { owner, expiresAtMs, fence });
    forgetTwo();
    return fence;
  };

  /** Drops what is long unused, looking at two entries for each grant, so that the map cannot only grow. */
  const forgetTwo = (): void => {
    const nowMs = clock.monotonicMs();
    let looks = 2;
    for (const [resource, entry] of entries) {
      if (looks-- === 0) break;
      entries.delete(resource);
      if (nowMs < entry.expiresAtMs + fenceTtlMs) entries.set(resource, entry);
    }
  };

  const announce = (resource: string, next: string | undefined): void => {
    for (const onReleased of watchers.get(resource) ?? []) queueMicrotask(() => onReleased(resource, next));
  };
  /** Puts the waiter into the lines of what is in the way. Elsewhere it would only keep others waiting. */
  const waitFor = (inTheWay: readonly string[], resources: readonly string[], waiter: string): void => {
    for (const resource of resources) {
      if (inTheWay.includes(resource)) {
        lines.enter(resource, waiter, entryOf(resource).fence);
        continue;
      }
      lines.leave(resource, waiter);
      const next = lines.takeNext(resource);
      if (next !== undefined) announce(resource, next);
    }
  };

  return {
    name,

    async acquire(request) {
      insistOnAcquire(request);
      const { resources, owner, ttlMs, fenceHint, takeover, waiter } = request;
      const nowMs = clock.monotonicMs();
      const holders = resources.map((resource) => holderOf(resource, nowMs));
      if (holders.every((holder) => holder === owner)) return { granted: true, fence: highestFence(resources) };
      const inTheWay = resources.filter((_, index) => {
        const holder = holders[index];
        return holder !== null && holder !== takeover;
      });
      if (inTheWay.length > 0) {
        if (waiter !== undefined) waitFor(inTheWay, resources, waiter);
        const expiriesMs = inTheWay.map((resource) => entryOf(resource).expiresAtMs);
        return { granted: false, retryAfterMs: Math.max(...expiriesMs) - nowMs };
      }
      if (waiter !== undefined) for (const resource of resources) lines.leave(resource, waiter);
      const hint = Math.min(fenceHint, Math.floor(clock.wallMs() * 1000) + maxHintAheadUs);
      return { granted: true, fence: grant(resources, owner, nowMs + ttlMs, hint) };
    },

    async extend(request) {
      insistOnExtend(request);
      const { resources, owner, ttlMs, fence, rejoin } = request;
      const nowMs = clock.monotonicMs();
      const holders = resources.map((resource) => holderOf(resource, nowMs));
      if (holders.every((holder) => holder === owner)) {
        for (const resource of resources) {
          const entry = entryOf(resource);
          const expiresAtMs = Math.max(entry.expiresAtMs, nowMs + ttlMs);
          write(resource, { owner, expiresAtMs, fence: Math.max(entry.fence, fence) });
        }
        return { held: true, fence: highestFence(resources) };
      }
      const isOpen = holders.every((holder) => holder === null || holder === owner);
      if (isOpen && rejoin) grant(resources, owner, nowMs + ttlMs, fence);
      return { held: false, rejoined: isOpen && rejoin };
    },

    async release(request) {
      insistOnRelease(request);
      const { resources, owner, waiter, undo } = request;
      const nowMs = clock.monotonicMs();
      const held = resources.filter((resource) => holderOf(resource, nowMs) === owner);
      const nexts = held.map((resource) => {
        entryOf(resource).owner = null;
        if (undo) return undefined;
        const next = lines.takeNext(resource, waiter);
        announce(resource, next);
        return next;
      });
      const next = nexts.find((each) => each !== undefined);
      return { released: held.length > 0, ...(next !== undefined && { next }) };
    },

    async watch(resources, onReleased) {
      // A watch of its own, even if the same function watches twice.
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

    async inspect(resource) {
      const nowMs = clock.monotonicMs();
      const owner = holderOf(resource, nowMs);
      const { expiresAtMs, fence } = entryOf(resource);
      return { owner, remainingMs: owner === null ? null : expiresAtMs - nowMs, fence };
    },
  };
}
