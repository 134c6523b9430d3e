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
  const hasTag = close > open + 1;
  const end = hasTag ? close : key.length;
  let crc = 0;
  for (let index = hasTag ? open + 1 : 0; index < end; index++) {
    const code = key.charCodeAt(index);
    if (code > 127) return slotOfBytes(Buffer.from(hasTag ? key.slice(open + 1, close) : key));
    crc = nextCrc(crc, code);
  }
  return crc & (slotCount - 1);
}

function slotOfBytes(bytes: Buffer): number {
  return bytes.reduce(nextCrc, 0) & (slotCount - 1);
}

function nextCrc(crc: number, byte: number): number {
  return ((crc << 8) & 0xffff) ^ (crcTable[(crc >> 8) ^ byte] as number);
}

/** The tags of slots are words of these letters, whose codes differ in three bits. */
const tagLetters = "hijklmno";
const lettersOfTag = 6;

/** Returns the word for a number of 18 bits, three for each letter. */
function wordOf(bits: number): string {
  let word = "";
  for (let letter = 0; letter < lettersOfTag; letter++) word += tagLetters[(bits >> (3 * letter)) & 7];
  return word;
}

const slotOfFirst = clusterSlot(wordOf(0));

/**
 * For each bit of a slot, the bits of words that change it, and perhaps lower bits, but no higher ones. A CRC is linear:
 * which bits of the slot a bit of the word changes does not depend on its other bits.
 */
const changes: { readonly slot: number; readonly word: number }[] = [];
for (let bit = 0; bit < 3 * lettersOfTag; bit++) {
  let word = 1 << bit;
  let slot = clusterSlot(wordOf(word)) ^ slotOfFirst;
  while (slot !== 0) {
    const highest = 31 - Math.clz32(slot);
    const known = changes[highest];
    if (known === undefined) {
      changes[highest] = { slot, word };
      break;
    }
    slot ^= known.slot;
    word ^= known.word;
  }
}

const tags: string[] = [];

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
  let tag = tags[slot];
  if (tag !== undefined) return tag;
  let word = 0;
  let missing = slot ^ slotOfFirst;
  for (let bit = 13; bit >= 0; bit--) {
    if ((missing & (1 << bit)) === 0) continue;
    const change = changes[bit] as (typeof changes)[number];
    missing ^= change.slot;
    word ^= change.word;
  }
  tag = wordOf(word);
  tags[slot] = tag;
  return tag;
}
