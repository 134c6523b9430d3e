/** Whether `pnpm nightly` runs the tests, which then leave nothing out. */
export const isNightly: boolean = process.env.HOLDFAST_NIGHTLY === "1";
