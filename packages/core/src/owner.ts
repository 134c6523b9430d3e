const bytesPerOwner = 16;

// Asking the system for randomness costs far more than copying it, so it is fetched for many owners at once.
const pool = new Uint8Array(bytesPerOwner * 128);
let used = pool.length;

const hexOf = Array.from({ length: 256 }, (_, byte) => (byte + 256).toString(16).slice(1));

/** A fresh value of 128 random bits that signs one attempt, led by a human label if there is one. */
export function freshOwner(label: string | undefined): string {
  if (used === pool.length) {
    crypto.getRandomValues(pool);
    used = 0;
  }
  used += bytesPerOwner;
  let owner = label === undefined ? "" : `${label}:`;
  for (let index = used - bytesPerOwner; index < used; index++) owner += hexOf[pool[index] as number];
  return owner;
}

/** The label that leads an owner, or null if it has none. */
export function labelOf(owner: string): string | null {
  const end = owner.lastIndexOf(":");
  return end === -1 ? null : owner.slice(0, end);
}
