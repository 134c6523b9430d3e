/** Stands for `@holdfast/membership` in the worker, which gets its functions from `draw.ts` when it needs them. */
import type * as membership from "@holdfast/membership";

/** Never called. */
export const heal: typeof membership.heal = unavailable;

/** Never called. */
export const migration: typeof membership.migration = unavailable;

function unavailable(): never {
  throw new Error("the functions for operators are not loaded");
}
