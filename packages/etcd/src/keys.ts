/** The keys and values in etcd. Each resource has a key for its claim, or one for each sharer, and one for its counter. */

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

/** Returns the range of the keys of all claims: each is the start and the name, and that of a sharer goes on. */
export function claimRange(prefix: string): { readonly start: Buffer; readonly end: Buffer } {
  const { claim } = keysOf(prefix, "");
  return { start: claim, end: encodeText(`${prefix}c0`) }; // "0" follows "/"
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
