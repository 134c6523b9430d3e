/** Claims of clients that are in an earlier stage of a change of servers. */
import type { EarlierClaim } from "@holdfast/membership";
import { timeOf } from "../inspect/inspection-report.ts";
import { printable } from "../output/print.ts";
import { table } from "../output/table.ts";

/** Returns a table with a line for each claim. */
export function claimsTable(claims: readonly EarlierClaim[]): string {
  const rows = claims.map(({ resource, label, owner, clients, nodes, remainingMs }) => {
    return [resource, label ?? "", owner, clients, timeOf(remainingMs), nodes.join(", ")].map(printable);
  });
  return table(["resource", "label", "owner", "clients", "remaining", "servers"], rows);
}

/** Returns the claims for programs. */
export function claimRecords(claims: readonly EarlierClaim[]): readonly object[] {
  return claims.map((claim) => ({
    ...claim,
    remainingMs: claim.remainingMs === Infinity ? null : Math.round(claim.remainingMs),
  }));
}

/** Names a claim in a line. */
export function claimText({ resource, label, owner }: EarlierClaim): string {
  return printable(`${resource} (${label ?? owner})`);
}
