/** Whether `pnpm nightly` runs the tests, which then leave nothing out. */
export const isNightly: boolean = process.env.HOLDFAST_NIGHTLY === "1";

/** How often the conformance suite repeats its races over a real server, as a multiple of its default. */
export const repetition: number = isNightly ? 1 : 0.25;
