import type { WaiterRecord } from "../history/history.ts";

/** Describes a call. */
export function nameOf({ client, resources }: Pick<WaiterRecord, "client" | "resources">): string {
  return `a call of ${client} for ${resources.join(" and ")}`;
}

/** Formats a duration. */
export function ms(value: number): string {
  return `${Math.round(value)} ms`;
}
