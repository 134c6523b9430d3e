/**
 * What property tests draw from: `HOLDFAST_FUZZ_SEED`, or always the same, so that what one machine finds shows on every
 * other one.
 */
export const fuzzSeed: number = Number(process.env.HOLDFAST_FUZZ_SEED ?? 20_261_120);
