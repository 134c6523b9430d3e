/*
 * The Redis Cluster slot of a key, as the Redis Cluster specification defines it: CRC16 (XMODEM) of the key's hash tag
 * if it has one, otherwise of the whole key.
 */

const slots = 16_384;
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
  let crc = 0;
  for (const byte of Buffer.from(hashTag(key) ?? key))
    crc = (crc << 8) ^ (crcTable[((crc >> 8) ^ byte) & 0xff] as number);
  return crc & (slots - 1);
}

/**
 * Returns the hash tag of a key: the text between the first `{` and the first `}` after it, unless that text is empty.
 * Keys with the same hash tag share a slot.
 */
export function hashTag(key: string): string | undefined {
  const open = key.indexOf("{");
  const close = open === -1 ? -1 : key.indexOf("}", open);
  return close > open + 1 ? key.slice(open + 1, close) : undefined;
}

const tagsBySlot = new Map<number, string>();
let numbersTried = 0;

/**
 * Returns the hash tag that stands for a slot: the first of 0, 1, … 9, a, b, … z, 10, 11, … (base 36) that belongs to
 * it. Names of keys on servers depend on this choice, so it must never change.
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
  // Each slot has its tag among the first 200 000 numbers. The search stores every tag that it passes.
  for (;;) {
    const known = tagsBySlot.get(slot);
    if (known !== undefined) return known;
    const tag = (numbersTried++).toString(36);
    const found = clusterSlot(tag);
    if (!tagsBySlot.has(found)) tagsBySlot.set(found, tag);
  }
}
