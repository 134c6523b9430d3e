import { ConfigurationError } from "@holdfast/core";
import { clusterSlot, hashTag, tagOfSlot } from "./cluster-slot.ts";

/** The prefix of all fence counters. No lock key may begin with it. */
export const fenceKeyPrefix = "holdfast:fence:";

/**
 * The prefix of all floors; the prefix of the lock keys follows. The permissions for fence counters cover floors. No
 * fence counter has such a name, because a brace follows the prefix of those.
 */
const floorKeyPrefix = `${fenceKeyPrefix}floor:`;

/** The prefix of all waiting lists. */
const waitingListPrefix = "holdfast:line:";

/** The prefix of all sets of sharers. No lock key may begin with it: the first shared claim deletes what is there. */
export const sharersKeyPrefix = "holdfast:sharers:";

/** The prefix of all channels; the lock key follows. */
export const channelPrefix = "holdfast:released:";

/** The naming scheme of one node. */
export interface KeyNames {
  /**
   * Returns the lock keys of resources that are locked together. Throws a ConfigurationError if a resource cannot be
   * locked here or, on a cluster, cannot be locked together with the others.
   */
  lockKeys(resources: readonly string[]): string[];
}

/** The keys and the channel of one resource on a server. */
export interface LockNames {
  /** The key of the lock. */
  readonly lock: string;
  /** The key of its fence counter. */
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
 * console.log(lockNames("lock:", "invoice:42").fence); // "holdfast:fence:{lock:invoice:42}"
 * ```
 */
export function lockNames(prefix: string, resource: string): LockNames {
  const [lock] = keyNames(prefix, false).lockKeys([resource]) as [string];
  return {
    lock,
    fence: fenceKey(lock),
    waitingList: waitingListKey(lock),
    sharers: sharersKey(lock),
    channel: channelPrefix + lock,
  };
}

/**
 * Returns the naming scheme of one node.
 *
 * @param prefix the prefix of the lock keys
 * @param isCluster whether the keys of one command must share a slot
 */
export function keyNames(prefix: string, isCluster: boolean): KeyNames {
  return {
    lockKeys(resources) {
      const keys: string[] = [];
      for (const resource of resources) {
        const key = prefix + resource;
        assertName(resource, key);
        keys.push(key);
      }
      if (isCluster && keys.length > 1) assertOneSlot(resources, keys);
      return keys;
    },
  };
}

/**
 * Returns the key of the fence counter of a lock key: `holdfast:fence:{tag}`, followed by the lock key unless that is
 * the tag. It depends on the lock key alone, so clients that share a lock share its counter. No two lock keys share a
 * fence key, because the text after the first `}` differs: it is empty where the tag is the lock key (which then
 * contains no `}`), and the lock key otherwise. The fence key is in the same slot as its lock key, whatever braces that
 * contains.
 */
export function fenceKey(lockKey: string): string {
  const tag = hashTag(lockKey);
  if (tag !== undefined) return `${fenceKeyPrefix}{${tag}}${lockKey}`;
  // Without a hash tag, the whole key determines the slot. It can serve as the tag unless it contains a closing brace.
  if (!lockKey.includes("}")) return `${fenceKeyPrefix}{${lockKey}}`;
  return `${fenceKeyPrefix}{${tagOfSlot(clusterSlot(lockKey))}}${lockKey}`;
}

/**
 * Returns the key of the floor and the epoch of a node, for programs that inspect or clean up servers. Its value is both
 * numbers in decimal digits with a space between them; it has no ttl. Nodes on a Redis Cluster have none.
 *
 * @param prefix the node's option `prefix`
 *
 * @example
 * ```ts
 * import { floorKey } from "@holdfast/redis";
 *
 * console.log(floorKey("lock:")); // "holdfast:fence:floor:lock:"
 * ```
 */
export function floorKey(prefix: string): string {
  return floorKeyPrefix + prefix;
}

/** Returns the key of the waiting list of a lock key, in the same slot. */
export function waitingListKey(lockKey: string): string {
  return waitingListPrefix + fenceKey(lockKey).slice(fenceKeyPrefix.length);
}

/** Returns the key of the sharers of a lock key, in the same slot. The lock script composes it in the same way. */
export function sharersKey(lockKey: string): string {
  return sharersKeyPrefix + fenceKey(lockKey).slice(fenceKeyPrefix.length);
}

/** Returns why no lock key may begin like this text: with which prefix, and what such keys are. */
export function reservationOf(text: string): { readonly prefix: string; readonly use: string } | undefined {
  if (text.startsWith(fenceKeyPrefix)) return { prefix: fenceKeyPrefix, use: "fence counters" };
  if (text.startsWith(sharersKeyPrefix)) return { prefix: sharersKeyPrefix, use: "sets of sharers" };
  return undefined;
}

function assertName(resource: string, key: string): void {
  const reserved = reservationOf(key);
  if (reserved !== undefined) refuse(resource, `keys that begin with ${reserved.prefix} are ${reserved.use}`);
  // Half of a surrogate pair has no UTF-8 encoding: on the server, all names that differ only in one would be the same.
  if (!isWellFormed(resource)) refuse(resource, "it is not well-formed Unicode");
}

/** Returns whether a text can be encoded in UTF-8. */
export function isWellFormed(text: string): boolean {
  return (text as string & { isWellFormed(): boolean }).isWellFormed();
}

function assertOneSlot(resources: readonly string[], lockKeys: readonly string[]): void {
  const slots = lockKeys.map(clusterSlot);
  if (slots.every((slot) => slot === slots[0])) return;
  const places = resources.map((resource, index) => `${JSON.stringify(resource)} (slot ${slots[index]})`);
  throw new ConfigurationError(
    `cannot lock ${places.join(", ")} together: they hash to different slots of the Redis Cluster; give them a common ` +
      'hash tag, as in "{order:7}:payment" and "{order:7}:delivery"',
    resources,
  );
}

function refuse(resource: string, reason: string): never {
  throw new ConfigurationError(`cannot lock ${JSON.stringify(resource)}: ${reason}`, [resource]);
}
