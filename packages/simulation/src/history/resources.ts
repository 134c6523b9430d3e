import type { WaiterRecord } from "./history.ts";

/** A lock, or a call for one. */
type Claimable = Pick<WaiterRecord, "resources" | "mode">;

/** Whether two calls, locks or attempts have a resource in common. */
export function overlap(a: Pick<WaiterRecord, "resources">, b: Pick<WaiterRecord, "resources">): boolean {
  return a.resources.some((resource) => b.resources.includes(resource));
}

/** Whether two locks, or calls for them, exclude each other: they have a resource in common and are not both shared. */
export function conflict(a: Claimable, b: Claimable): boolean {
  return (a.mode === "exclusive" || b.mode === "exclusive") && overlap(a, b);
}

/** Whether `some` is a proper prefix of `all`, as when resources are collected one by one in sorted order. */
export function isPartOf(some: readonly string[], all: readonly string[]): boolean {
  return some.length < all.length && some.every((resource, index) => all[index] === resource);
}
