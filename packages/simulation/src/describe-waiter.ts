import type { WaiterRecord } from "./history.ts";

/** A call in words. */
export function nameOf({ client, resources }: Pick<WaiterRecord, "client" | "resources">): string {
  return `a call of ${client} for ${resources.join(" and ")}`;
}

/** A duration in words. */
export function ms(value: number): string {
  return `${Math.round(value)} ms`;
}

/** Whether two calls, locks or attempts want some of the same. */
export function overlap(a: Pick<WaiterRecord, "resources">, b: Pick<WaiterRecord, "resources">): boolean {
  return a.resources.some((resource) => b.resources.includes(resource));
}

/** Whether these are the first of those, and not all: what is collected one by one, in sorted order. */
export function isPartOf(some: readonly string[], all: readonly string[]): boolean {
  return some.length < all.length && some.every((resource, index) => all[index] === resource);
}
