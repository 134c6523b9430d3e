/** Shows on standard error for what `heal` and `migrate` wait. */
import type { EarlierClaim, MembershipProgress } from "@holdfast/membership";
import { timeOf } from "../inspect/inspection-report.ts";
import { longMs } from "../output/format.ts";
import { printable, printMessage } from "../output/print.ts";
import { table } from "../output/table.ts";

type Waiting = Extract<MembershipProgress, { readonly doing: "waiting" }>;

/** The time between two lines about the same thing, in milliseconds. */
const repeatMs = 10_000;
/** The most claims to name in a line. */
const namesMax = 3;

/**
 * Returns a listener that prints a line for each wait, now and then.
 *
 * @param until what the operation waits for when no claims are in its way, as in "until …"
 */
export function printingProgress(until: string): (progress: MembershipProgress) => void {
  const printedMs = new Map<string, number>();
  return (progress) => {
    if (progress.doing !== "waiting") return;
    const subject = blockersText(progress.claims);
    const nowMs = performance.now();
    if (nowMs - (printedMs.get(subject) ?? -Infinity) < repeatMs) return;
    printedMs.set(subject, nowMs);
    printMessage(waitingText(progress, until));
  };
}

function waitingText({ claims, leftMs }: Waiting, until: string): string {
  return claims.length > 0 ? `waiting for ${blockersText(claims)}` : `waiting ${longMs(leftMs)} until ${until}`;
}

function blockersText(claims: readonly EarlierClaim[]): string {
  const more = claims.length > namesMax ? [`${claims.length - namesMax} more`] : [];
  return `locks of clients of an earlier stage: ${[...claims.slice(0, namesMax).map(claimText), ...more].join(", ")}`;
}

/** Returns a table with a line for each claim. */
export function claimsTable(claims: readonly EarlierClaim[]): string {
  const rows = claims.map(({ resource, label, owner, clients, nodes, remainingMs }) => {
    return [resource, label ?? "", owner, clients, timeOf(remainingMs), nodes.join(", ")].map(printable);
  });
  return table(["resource", "label", "owner", "clients", "remaining", "servers"], rows);
}

/** Names a claim in a line. */
function claimText({ resource, label, owner }: EarlierClaim): string {
  return printable(`${resource} (${label ?? owner})`);
}
