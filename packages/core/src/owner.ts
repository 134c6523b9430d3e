const wordsPerOwner = 4;

// Asking the system for randomness costs far more than copying it, so it is fetched for many owners at once.
const pool = new Uint32Array(wordsPerOwner * 128);
let used = pool.length;

/** A fresh value of 128 random bits that signs one attempt, led by a human label if there is one. */
export function freshOwner(label: string | undefined): string {
  if (used === pool.length) {
    crypto.getRandomValues(pool);
    used = 0;
  }
  used += wordsPerOwner;
  let owner = label === undefined ? "" : `${label}:`;
  for (let index = used - wordsPerOwner; index < used; index++) owner += pool[index]?.toString(16).padStart(8, "0");
  return owner;
}

/** The label that leads an owner, or null if it has none. */
export function labelOf(owner: string): string | null {
  const end = owner.lastIndexOf(":");
  return end === -1 ? null : owner.slice(0, end);
}
