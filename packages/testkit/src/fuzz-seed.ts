/**
 * The seed of all property tests: `HOLDFAST_FUZZ_SEED`, or a constant, so that a failure on one machine is reproducible
 * on every other.
 */
export const fuzzSeed: number = Number(process.env.HOLDFAST_FUZZ_SEED ?? 20_261_120);
