const digitsPerOwner = 32;

// Asking the system for randomness costs far more than copying it, so it is fetched for many owners at once.
const pool = new Uint8Array(digitsPerOwner * 128);
let digits = "";
let used = pool.length;

/** A fresh value of 128 random bits that signs one attempt, led by a human label if there is one. */
export function freshOwner(label: string | undefined): string {
  if (used === pool.length) {
    const random = crypto.getRandomValues(pool);
    digits = String.fromCharCode(...random.map((byte) => hexDigits.charCodeAt(byte % 16)));
    used = 0;
  }
  used += digitsPerOwner;
  const owner = digits.slice(used - digitsPerOwner, used);
  return label === undefined ? owner : `${label}:${owner}`;
}

const hexDigits = "0123456789abcdef";

/** The label that leads an owner, or null if it has none. */
export function labelOf(owner: string): string | null {
  const end = owner.lastIndexOf(":");
  return end === -1 ? null : owner.slice(0, end);
}
