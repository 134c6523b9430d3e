const bytesPerOwner = 16;
const hexDigits: readonly string[] = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

// Asking the system for randomness costs far more than copying it, so it is fetched for many owners at once.
const pool = new Uint8Array(bytesPerOwner * 128);
let used = pool.length;

/** A fresh value of 128 random bits that signs one attempt, led by a human label if there is one. */
export function freshOwner(label: string | undefined): string {
  if (used === pool.length) {
    crypto.getRandomValues(pool);
    used = 0;
  }
  let owner = label === undefined ? "" : `${label}:`;
  for (const end = used + bytesPerOwner; used < end; used++) owner += hexDigits[pool[used] as number];
  return owner;
}

/** The label that leads an owner, or null if it has none. */
export function labelOf(owner: string): string | null {
  const end = owner.lastIndexOf(":");
  return end === -1 ? null : owner.slice(0, end);
}
