/**
 * The keys and values in etcd. Each resource has a key for its claim, or one for each sharer, and one for its counter.
 * All resources together have one for their floor.
 */
import type { Floor } from "@holdfast/core/node";

/** The keys of one resource. */
export interface Keys {
  /** Holds the owner, for as long as there is an exclusive claim. */
  readonly claim: Buffer;
  /** The keys of sharers are from here up to `end`, and no others. */
  readonly sharers: Buffer;
  /** The first key after those of all claims. */
  readonly end: Buffer;
  /** Holds the counter, for good. */
  readonly counter: Buffer;
}

/** Every safe integer has at most 16 digits. */
const digits = 16;

/** Returns the keys of a resource. */
export function keysOf(prefix: string, resource: string): Keys {
  const name = encodeText(resource);
  const claim = Buffer.concat([encodeText(`${prefix}c/`), name]);
  return {
    claim,
    // An encoded name has no control characters.
    sharers: Buffer.concat([claim, Buffer.of(0)]),
    end: Buffer.concat([claim, Buffer.of(1)]),
    counter: Buffer.concat([encodeText(`${prefix}f/`), name]),
  };
}

/** Returns the key of a claim. That of a sharer exists as long as its claim. */
export function claimKey({ claim, sharers }: Keys, owner: string, isShared: boolean): Buffer {
  return isShared ? Buffer.concat([sharers, encodeText(owner)]) : claim;
}

/** Returns the resource of the key of a claim, given what the keys of all claims start with. */
export function resourceOf(key: Buffer, start: Buffer): string {
  const name = key.subarray(start.length);
  const end = name.indexOf(0);
  return decodeText(end < 0 ? name : name.subarray(0, end));
}

/** The keys from `start` up to `end`. */
export interface KeyRange {
  readonly start: Buffer;
  readonly end: Buffer;
}

/** Returns the range of the keys of all claims. A key is the start and the name; a sharer's key has a suffix. */
export function claimRange(prefix: string): KeyRange {
  return { start: keysOf(prefix, "").claim, end: encodeText(`${prefix}c0`) }; // "0" follows "/"
}

/** Returns the range of the keys of all counters. */
export function counterRange(prefix: string): KeyRange {
  return { start: keysOf(prefix, "").counter, end: encodeText(`${prefix}f0`) };
}

/** Returns the key of the floor and the epoch. It exists from when one of them is raised, for good. */
export function floorKey(prefix: string): Buffer {
  return encodeText(`${prefix}floor`);
}

/** Returns the key of a random text, which tells clusters apart: they derive their own ids from their configuration. */
export function identityKey(prefix: string): Buffer {
  return encodeText(`${prefix}id`);
}

/**
 * Encodes any string, different strings differently: as in JSON without the quotes, because UTF-8 has no half surrogate
 * pairs. Ordinary names stay readable.
 */
export function encodeText(text: string): Buffer {
  return Buffer.from(JSON.stringify(text).slice(1, -1));
}

/** Decodes what {@link encodeText} has encoded, and returns any other value as it is. */
export function decodeText(bytes: Buffer): string {
  const text = bytes.toString();
  try {
    return JSON.parse(`"${text}"`) as string;
  } catch {
    return text; // another program has written it
  }
}

/** Encodes a counter, so that the order of the bytes is that of the numbers. */
export function encodeFence(fence: number): Buffer {
  return Buffer.from(String(fence).padStart(digits, "0"));
}

/**
 * Decodes a counter.
 *
 * @throws {Error} if another program has written it
 */
export function decodeFence(bytes: Buffer): number {
  const fence = Number(bytes.toString());
  if (bytes.length !== digits || !Number.isSafeInteger(fence) || fence < 0) {
    throw new Error("a fence counter in etcd is not a number of 16 digits: another program has changed it");
  }
  return fence;
}

/** Encodes the floor like a counter, followed by the epoch. */
export function encodeFloor({ floor, epoch }: Floor): Buffer {
  return Buffer.concat([encodeFence(floor), encodeText(` ${epoch}`)]);
}

/**
 * Decodes the floor and the epoch.
 *
 * @throws {Error} if another program has written them
 */
export function decodeFloor(bytes: Buffer): Floor {
  const [, floor, epoch] = /^(\d{16}) (\d{1,16})$/.exec(bytes.toString()) ?? [];
  const decoded = { floor: Number(floor), epoch: Number(epoch) };
  if (!Number.isSafeInteger(decoded.floor) || !Number.isSafeInteger(decoded.epoch)) {
    throw new Error("the floor in etcd is not a number of 16 digits and an epoch: another program has changed it");
  }
  return decoded;
}
