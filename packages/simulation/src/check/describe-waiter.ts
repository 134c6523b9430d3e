import type { WaiterRecord } from "../history/history.ts";

/** A call in words. */
export function nameOf({ client, resources }: Pick<WaiterRecord, "client" | "resources">): string {
  return `a call of ${client} for ${resources.join(" and ")}`;
}

/** A duration in words. */
export function ms(value: number): string {
  return `${Math.round(value)} ms`;
}
