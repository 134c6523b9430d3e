import { ConfigurationError } from "@holdfast/core";

/** How all names of ours begin. */
const ownPrefix = "holdfast:";

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
  const reserved = key.startsWith(ownPrefix) ? reservationOf(key) : undefined;
  // Half of a surrogate pair has no UTF-8 encoding: on the server, all names that differ only in one would be the same.
  if (reserved === undefined && (resource as WellFormed).isWellFormed()) return key;
  const reason = reserved
    ? `keys that begin with ${reserved.prefix} are ${reserved.use}`
    : "it is not well-formed Unicode";
  throw new ConfigurationError(`cannot lock ${JSON.stringify(resource)}: ${reason}`, [resource]);
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

/** A text that may have no encoding in UTF-8. */
export type WellFormed = string & { isWellFormed(): boolean };

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

/*
 * The Redis Cluster slot of a key, as the Redis Cluster specification defines it: CRC16 (XMODEM) of the key's hash tag
 * if it has one, otherwise of the whole key.
 */

/** How many slots there are. */
export const slotCount = 16_384;

const crcTable = Uint16Array.from({ length: 256 }, (_, byte) => {
  let crc = byte << 8;
  for (let bit = 0; bit < 8; bit++) crc = (crc & 0x8000) === 0 ? crc << 1 : (crc << 1) ^ 0x1021;
  return crc;
});

/**
 * Returns the Redis Cluster slot of a key, from 0 to 16383, as the Redis Cluster specification defines it: the CRC16 of
 * its hash tag, or of the whole key without one.
 *
 * @param key the name of the key on the server
 *
 * @example
 * ```ts
 * import { clusterSlot } from "@holdfast/redis";
 *
 * console.log(clusterSlot("{order:7}:payment") === clusterSlot("order:7")); // true
 * ```
 */
export function clusterSlot(key: string): number {
  // The hash tag is the text between the first "{" and the first "}" after it, unless that text is empty.
  const open = key.indexOf("{");
  const close = open === -1 ? -1 : key.indexOf("}", open);
  const tag = close > open + 1 ? key.slice(open + 1, close) : key;
  const bytes = isAscii.test(tag) ? tag : Buffer.from(tag).toString("latin1"); // a character for each byte
  let crc = 0;
  for (let index = 0; index < bytes.length; index++) {
    crc = ((crc << 8) & 0xffff) ^ (crcTable[(crc >> 8) ^ bytes.charCodeAt(index)] as number);
  }
  return crc & (slotCount - 1);
}

const isAscii = /^[\0-\x7f]*$/;

/** The tags of slots are words of six of these letters, whose codes differ in three bits. */
const tagLetters = "hijklmno";

const slotOfFirst = clusterSlot("hhhhhh");

/**
 * For each bit of a slot, from the lowest, the bits of a word that change it and no other. There are such bits because a
 * CRC is linear: which bits of the slot a bit of the word changes does not depend on its other bits.
 */
const changes = [24877, 11385, 27758, 26024, 2826, 1291, 26963, 9824, 18510, 10598, 27428, 2169, 9326, 8803];

/** The changes of each half of the bits of a slot together. */
const [changesOfLow, changesOfHigh] = [changes.slice(0, 7), changes.slice(7)].map((half) =>
  Array.from({ length: 128 }, (_, bits) => half.reduce((word, change, bit) => word ^ ((bits >> bit) & 1 && change), 0)),
) as [number[], number[]];

/** All pairs of letters. */
const letterPairs = Array.from(tagLetters.repeat(8), (letter, index) => letter + tagLetters[index >> 3]);

/**
 * Returns the hash tag that stands for a slot: a word of six letters that belongs to it. Names of keys on servers
 * depend on this choice, so it must never change.
 *
 * @param slot from 0 to 16383
 *
 * @example
 * ```ts
 * import { clusterSlot, tagOfSlot } from "@holdfast/redis";
 *
 * console.log(clusterSlot(tagOfSlot(5000))); // 5000
 * ```
 */
export function tagOfSlot(slot: number): string {
  const missing = slot ^ slotOfFirst;
  const word = (changesOfLow[missing & 127] as number) ^ (changesOfHigh[missing >> 7] as number);
  return `${letterPairs[word & 63]}${letterPairs[(word >> 6) & 63]}${letterPairs[word >> 12]}`;
}
