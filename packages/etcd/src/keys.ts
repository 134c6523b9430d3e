/** The keys and values in etcd. Each resource has two keys: its claim, and its fence counter. */

/** The keys of one resource. */
export interface Keys {
  /** Holds the owner, for as long as there is a claim. */
  readonly claim: Buffer;
  /** Holds the counter, for good. */
  readonly counter: Buffer;
}

/** Every safe integer has at most 16 digits. */
const digits = 16;

/** Returns the keys of a resource. */
export function keysOf(prefix: string, resource: string): Keys {
  const name = encodeText(resource);
  return {
    claim: Buffer.concat([encodeText(`${prefix}c/`), name]),
    counter: Buffer.concat([encodeText(`${prefix}f/`), name]),
  };
}

/** Returns the range of the keys of all claims: the key of the claim on a resource is the start and the name. */
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
