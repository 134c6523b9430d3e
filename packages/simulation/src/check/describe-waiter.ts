import type { WaiterRecord } from "../history/history.ts";

/** Describes a call. */
export function nameOf({ client, resources, mode }: Pick<WaiterRecord, "client" | "resources" | "mode">): string {
  return `a call of ${client} ${mode === "shared" ? "to share" : "for"} ${resources.join(" and ")}`;
}

/** Formats a duration. */
export function ms(value: number): string {
  return `${Math.round(value)} ms`;
}
