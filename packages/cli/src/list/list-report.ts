/** The report of `list`, as text and as JSON. */
import type { Inspection } from "@holdfast/core";
import type { NodeView } from "@holdfast/core/node";
import { reasonOf } from "../failures.ts";
import { holderOf, inspectionRecord, ownersOn, timeOf } from "../inspect/inspection-report.ts";
import { colors, printable } from "../output/print.ts";
import { table } from "../output/table.ts";
import type { Server } from "../servers/server.ts";
import type { SearchResult } from "./find-resources.ts";

/**
 * The longest holder to show in full. Longer ones are not owners of Holdfast: with an empty prefix, any string on a
 * server is listed.
 */
const holderLengthMax = 100;

/** Returns a table with a line for each lock. */
export function listText(locks: readonly Inspection[]): string {
  return table(["resource", "held by", "remaining", "fence", "servers"], locks.map(rowOf));
}

/**
 * Returns the report for programs. Keys may be added, but existing ones do not change.
 *
 * @returns one line of JSON
 */
export function listJson(
  locks: readonly Inspection[],
  { isCut, notUtf8, searches }: SearchResult,
  servers: readonly Server[],
): string {
  return JSON.stringify({
    locks: locks.map((lock) => ({ ...inspectionRecord(lock, servers), state: stateOf(lock) })),
    truncated: isCut,
    notUtf8,
    servers: searches.map(({ node, error }) => ({ node, error: error === null ? null : reasonOf(error) })),
  });
}

/**
 * Returns the state of a listed key: `partly` if servers keep claims but no owner has a majority, so that another owner
 * may still get the lock; `unknown` if too few servers replied to tell.
 */
export function stateOf(lock: Inspection): "held" | "partly" | "unknown" {
  if (lock.state !== "free") return lock.state;
  return claimsOf(lock).length > 0 ? "partly" : "unknown";
}

/** Returns the claims that servers keep, whether or not an owner has a majority. */
export function claimsOf({ nodes }: Inspection): readonly NodeView[] {
  return nodes.flatMap(({ view }) => (view === null || view.owner === null ? [] : [view]));
}

function rowOf(lock: Inspection): string[] {
  const claims = claimsOf(lock);
  const agreement = (count: number): string => `${count} of ${lock.nodes.length}${remarkOn(lock)}`;
  if (claims.length === 0) return [printable(lock.resource), "unknown", "", "", agreement(0)];
  const isHeld = lock.state === "held";
  const owners = isHeld ? [holderOf(lock)] : [...new Set(claims.flatMap(ownersOn).map(printable))];
  const longestMs = Math.max(...claims.map(({ remainingMs }) => remainingMs ?? Infinity));
  const agreeing = isHeld ? claims.filter((claim) => ownersOn(claim).includes(lock.owner ?? "")) : claims;
  return [
    printable(lock.resource),
    owners.map(shortened).join(", "),
    timeOf(isHeld ? lock.remainingMs : longestMs),
    String(lock.fence),
    agreement(agreeing.length),
  ];
}

function remarkOn(lock: Inspection): string {
  const state = stateOf(lock);
  if (state === "held") return "";
  return colors.yellow(state === "partly" ? ", no majority" : ", too few answered");
}

function shortened(holder: string): string {
  return holder.length <= holderLengthMax ? holder : `${holder.slice(0, holderLengthMax - 3)}...`;
}
