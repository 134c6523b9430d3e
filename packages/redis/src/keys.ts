import { ConfigurationError } from "@holdfast/core";
import { clusterSlot, tagOfSlot } from "./cluster-slot.ts";

/** The prefix of all fence counters. No lock key may begin with it. */
export const fenceKeyPrefix = "holdfast:fence:";

/** The prefix of all waiting lists. */
const waitingListPrefix = "holdfast:line:";

/** The prefix of all sets of sharers. No lock key may begin with it: the first shared claim deletes what is there. */
export const sharersKeyPrefix = "holdfast:sharers:";

/** The prefix of all channels; the lock key follows. */
export const channelPrefix = "holdfast:released:";

/** The keys and the channel of one resource on a server. */
export interface LockNames {
  /** The key of the lock. */
  readonly lock: string;
  /** The key of its fence counter, which covers all locks of its Redis Cluster slot with the same prefix. */
  readonly fence: string;
  /** The key of its waiting list: a sorted set of waiters, scored by the fence counter at which they enqueued. */
  readonly waitingList: string;
  /** The key of the owners that share the lock: a sorted set, scored by the millisecond in which their claims end. */
  readonly sharers: string;
  /** The channel of its release notifications. */
  readonly channel: string;
}

/**
 * Returns the names that a resource has on its server, for programs that inspect or clean up servers.
 *
 * @param prefix the node's option `prefix`
 * @param resource the name that is locked
 * @throws {ConfigurationError} if the resource cannot be locked
 *
 * @example
 * ```ts
 * import { lockNames } from "@holdfast/redis";
 *
 * console.log(lockNames("lock:", "invoice:42").fence); // "holdfast:fence:{ikhkhh}lock:"
 * ```
 */
export function lockNames(prefix: string, resource: string): LockNames {
  const lock = lockKey(prefix, resource);
  const slot = clusterSlot(lock);
  return {
    lock,
    fence: fenceKey(prefix, slot),
    waitingList: waitingListKey(lock, slot),
    sharers: sharersKey(lock, slot),
    channel: channelPrefix + lock,
  };
}

/** Returns the lock key of a resource. Throws a ConfigurationError if it cannot be locked. */
export function lockKey(prefix: string, resource: string): string {
  const key = prefix + resource;
  const reserved = reservationOf(key);
  if (reserved !== undefined) refuse(resource, `keys that begin with ${reserved.prefix} are ${reserved.use}`);
  // Half of a surrogate pair has no UTF-8 encoding: on the server, all names that differ only in one would be the same.
  if (!isWellFormed(resource)) refuse(resource, "it is not well-formed Unicode");
  return key;
}

/**
 * Returns the key of the fence counter that covers the lock keys of a slot with this prefix. So a server has at most as
 * many counters for a prefix as there are slots, and each is in the same slot as its locks.
 */
export function fenceKey(prefix: string, slot: number): string {
  return `${fenceKeyPrefix}{${tagOfSlot(slot)}}${prefix}`;
}

/** Returns the key of the waiting list of a lock key, in the same slot. */
export function waitingListKey(lock: string, slot: number): string {
  return `${waitingListPrefix}{${tagOfSlot(slot)}}${lock}`;
}

/** Returns the key of the sharers of a lock key, in the same slot. */
export function sharersKey(lock: string, slot: number): string {
  return `${sharersKeyPrefix}{${tagOfSlot(slot)}}${lock}`;
}

/** Returns why no lock key may begin like this text: with which prefix, and what such keys are. */
export function reservationOf(text: string): { readonly prefix: string; readonly use: string } | undefined {
  if (text.startsWith(fenceKeyPrefix)) return { prefix: fenceKeyPrefix, use: "fence counters" };
  if (text.startsWith(sharersKeyPrefix)) return { prefix: sharersKeyPrefix, use: "sets of sharers" };
  return undefined;
}

/** Returns whether a text can be encoded in UTF-8. */
export function isWellFormed(text: string): boolean {
  return (text as string & { isWellFormed(): boolean }).isWellFormed();
}

/** Returns the error if resources that are to be locked together are in different slots. */
export function slotsError(prefix: string, resources: readonly string[]): ConfigurationError | undefined {
  const slots = resources.map((resource) => clusterSlot(prefix + resource));
  if (slots.every((slot) => slot === slots[0])) return undefined;
  const places = resources.map((resource, index) => `${JSON.stringify(resource)} (slot ${slots[index]})`);
  return new ConfigurationError(
    `cannot lock ${places.join(", ")} together: they hash to different slots of the Redis Cluster; give them a common ` +
      'hash tag, as in "{order:7}:payment" and "{order:7}:delivery"',
    resources,
  );
}

function refuse(resource: string, reason: string): never {
  throw new ConfigurationError(`cannot lock ${JSON.stringify(resource)}: ${reason}`, [resource]);
}
