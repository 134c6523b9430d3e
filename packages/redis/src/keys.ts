import { ConfigurationError } from "@holdfast/core";
import { clusterSlot, hashTag, tagOfSlot } from "./cluster-slot.ts";

/** What the names of all fence keys begin with, and those of lock keys must not. */
export const fenceKeyPrefix = "holdfast:fence:";

/** What the names of all lines begin with: those who wait for a lock, by its fence counter when they came. */
const linePrefix = "holdfast:line:";

/** The channel of a resource is this, followed by its lock key. */
export const channelPrefix = "holdfast:released:";

/** How the resources of one node are called on its server. */
export interface KeyNames {
  /** The key of a resource's lock. Throws a ConfigurationError where the resource cannot be locked here, saying why. */
  lockKey(resource: string): string;
  /** The keys of locks that are to be held together. Throws where they cannot be, on a cluster. */
  lockKeys(resources: readonly string[]): string[];
}

/** All that belongs to one resource on a server. */
export interface LockNames {
  /** The key of the lock. */
  readonly lock: string;
  /** The key of its fence counter. */
  readonly fence: string;
  /** The key of the line of those who wait for it. */
  readonly line: string;
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
  const lock = keyNames(prefix, false).lockKey(resource);
  return { lock, fence: fenceKey(lock), line: lineKey(lock), channel: channelPrefix + lock };
}

/**
 * Makes the names of one node.
 *
 * @param prefix what lock keys begin with
 * @param isCluster whether the keys of one command must share a slot
 */
export function keyNames(prefix: string, isCluster: boolean): KeyNames {
  const lockKey = (resource: string): string => {
    const key = prefix + resource;
    insistOnGoodName(resource, key);
    return key;
  };
  return {
    lockKey,
    lockKeys(resources) {
      const keys = resources.map(lockKey);
      if (isCluster && keys.length > 1) insistOnOneSlot(resources, keys);
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

/** The key of the line of those who wait for a lock. It has the slot of its lock key. */
export function lineKey(lockKey: string): string {
  return linePrefix + fenceKey(lockKey).slice(fenceKeyPrefix.length);
}

function insistOnGoodName(resource: string, key: string): void {
  if (key.startsWith(fenceKeyPrefix)) refuse(resource, `keys with ${fenceKeyPrefix} are for fence counters`);
  // Half a surrogate pair has no UTF-8: sent to the server, all such names would be one.
  if (/\p{Surrogate}/u.test(resource)) refuse(resource, "it is not well-formed Unicode");
}

function insistOnOneSlot(resources: readonly string[], lockKeys: readonly string[]): void {
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
