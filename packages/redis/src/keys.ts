import { ConfigurationError } from "@holdfast/core";
import { clusterSlot, hashTag, tagOfSlot } from "./cluster-slot.ts";

/** What the names of all fence counters begin with; those of locks must not. */
export const fenceKeyPrefix = "holdfast:fence:";

/** What the names of all waiting lists begin with. */
const waitingListPrefix = "holdfast:line:";

/** The channel of a resource is this, followed by its lock key. */
export const channelPrefix = "holdfast:released:";

/** What the resources of one node are called on its server. */
export interface KeyNames {
  /**
   * The keys of locks that are to be held together. Throws a ConfigurationError if a resource cannot be locked here, or not
   * together with the others on a cluster.
   */
  lockKeys(resources: readonly string[]): string[];
}

/** All that belongs to one resource on a server. */
export interface LockNames {
  /** The key of the lock. */
  readonly lock: string;
  /** The key of its fence counter. */
  readonly fence: string;
  /** The key of its waiting list: waiters, by the fence counter at which they came. */
  readonly waitingList: string;
  /** The channel on which its releases are announced. */
  readonly channel: string;
}

/**
 * What a resource is called on its server, for programs that look after servers.
 *
 * @param prefix the option of the node
 * @throws {ConfigurationError} where the resource cannot be locked
 */
export function lockNames(prefix: string, resource: string): LockNames {
  const [lock] = keyNames(prefix, false).lockKeys([resource]) as [string];
  return { lock, fence: fenceKey(lock), waitingList: waitingListKey(lock), channel: channelPrefix + lock };
}

/**
 * Makes the names of one node.
 *
 * @param prefix what lock keys begin with
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
 * The key of the fence counter that belongs to a lock key: `holdfast:fence:{tag}`, and then the lock key unless it is
 * the tag already. It follows from the lock key alone, so that two clients that share a lock share its counter, too. No
 * two lock keys share a fence key, as what follows the first `}` tells them apart: nothing, where the tag is the lock
 * key (and holds no `}`), or else the lock key. It has the slot of its lock key, whatever braces that contains.
 */
export function fenceKey(lockKey: string): string {
  const tag = hashTag(lockKey);
  if (tag !== undefined) return `${fenceKeyPrefix}{${tag}}${lockKey}`;
  // Without a hash tag the slot is that of the whole key. It can be made a tag, unless that would end too early.
  if (!lockKey.includes("}")) return `${fenceKeyPrefix}{${lockKey}}`;
  return `${fenceKeyPrefix}{${tagOfSlot(clusterSlot(lockKey))}}${lockKey}`;
}

/** The key of the waiting list of a lock. It has the slot of its lock key. */
export function waitingListKey(lockKey: string): string {
  return waitingListPrefix + fenceKey(lockKey).slice(fenceKeyPrefix.length);
}

function assertName(resource: string, key: string): void {
  if (key.startsWith(fenceKeyPrefix)) refuse(resource, `keys with ${fenceKeyPrefix} are for fence counters`);
  // Half a surrogate pair has no UTF-8: sent to the server, all such names would be one.
  if (!isWellFormed(resource)) refuse(resource, "it is not well-formed Unicode");
}

/** Whether a text can be encoded in UTF-8. */
export function isWellFormed(text: string): boolean {
  return (text as string & { isWellFormed(): boolean }).isWellFormed();
}

function assertOneSlot(resources: readonly string[], lockKeys: readonly string[]): void {
  const slots = lockKeys.map(clusterSlot);
  if (slots.every((slot) => slot === slots[0])) return;
  const places = resources.map((resource, index) => `${JSON.stringify(resource)} (slot ${slots[index]})`);
  throw new ConfigurationError(
    `cannot lock ${places.join(", ")} together: they hash to different slots of the Redis Cluster; give them a hash tag ` +
      'in common, as in "{order:7}:payment" and "{order:7}:delivery"',
    resources,
  );
}

function refuse(resource: string, reason: string): never {
  throw new ConfigurationError(`cannot lock ${JSON.stringify(resource)}: ${reason}`, [resource]);
}
