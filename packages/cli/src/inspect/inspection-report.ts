/** The report of `inspect`, as text and as JSON. */
import type { Inspection, NodeInspection } from "@holdfast/core";
import type { NodeView } from "@holdfast/core/node";
import ms from "ms";
import { reasonOf } from "../failures.ts";
import { colors, printable } from "../output/print.ts";
import { table } from "../output/table.ts";
import type { Server } from "../servers/server.ts";

/** Returns the report for people: the verdict, the details of the lock, and a line for each server. */
export function inspectionText(inspection: Inspection, servers: readonly Server[]): string {
  const { nodes, resource } = inspection;
  const rows = nodes.map((node, index) => rowOf(node, inspection, servers[index]));
  const verdict = `${colors.bold(printable(resource))} ${verdictOf(inspection)}`;
  return [verdict, ...factsOf(inspection), "", table(["server", "held by", "remaining", "fence", ""], rows)].join("\n");
}

/** Returns the report for programs, for JSON. Keys may be added, but existing ones do not change. */
export function inspectionRecord(inspection: Inspection, servers: readonly Server[]): object {
  const { resource, state, mode, owner, label, remainingMs, holders, fence, nodes } = inspection;
  return {
    resource,
    state,
    mode,
    owner,
    label,
    remainingMs: rounded(remainingMs),
    holders: holders.map((holder) => ({ ...holder, remainingMs: rounded(holder.remainingMs) })),
    fence,
    nodes: nodes.map(({ node, view, error }, index) => ({
      node,
      owner: view?.owner ?? null,
      remainingMs: rounded(view?.remainingMs),
      sharers: view?.sharers?.map((sharer) => ({ ...sharer, remainingMs: rounded(sharer.remainingMs) })) ?? null,
      fence: view?.fence ?? null,
      floor: view?.floor ?? null,
      recoveringMs: view?.recoveringMs ?? null,
      error: error === null ? null : problemOf(error, servers[index]),
    })),
  };
}

/** Returns a string that differs between two reports unless only the remaining time has changed. */
export function essenceOf({ state, holders, fence, nodes }: Inspection): string {
  const owners = holders.map(({ owner }) => owner).sort();
  const views = nodes.map(({ view, error }) => [
    view && ownersOn(view).sort(),
    view?.fence,
    view?.floor,
    view?.recoveringMs !== undefined,
    error !== null,
  ]);
  return JSON.stringify([state, owners, fence, views]);
}

/** Returns the holder for display, or the holders that share the lock. */
export function holderOf({ holders }: Inspection): string {
  return shortList(holders.map(({ label, owner }) => printable(label ?? owner)));
}

/** Returns the owners of all claims on one server. */
export function ownersOn({ owner, sharers }: NodeView): string[] {
  return sharers?.map((sharer) => sharer.owner) ?? (owner === null ? [] : [owner]);
}

/** Rounds a duration for JSON, which has no infinity. */
export function rounded(durationMs: number | null | undefined): number | null {
  return durationMs == null ? null : Math.round(durationMs);
}

/** How many holders of a shared lock to name. */
const namesMax = 5;

function shortList(names: readonly string[]): string {
  const more = names.length - namesMax;
  return names.slice(0, namesMax).join(", ") + (more > 0 ? ` and ${more} more` : "");
}

function verdictOf(inspection: Inspection): string {
  const { state, mode, nodes } = inspection;
  if (state === "held") return `is ${colors.yellow(mode === "shared" ? "shared" : "held")} by ${holderOf(inspection)}`;
  if (state === "free") return `is ${colors.green("free")}`;
  const answered = nodes.filter(({ view }) => view !== null).length;
  return `may be held or free: ${answered} of ${nodes.length} servers ${colors.red("answered")}, too few to tell`;
}

function factsOf({ state, holders, fence, remainingMs }: Inspection): string[] {
  if (state !== "held") return fence === 0 ? [] : [`  fence      ${fence}, the highest so far`];
  const owners = holders.map(({ owner }) => `  owner      ${printable(owner)}`);
  return [...owners, `  fence      ${fence}`, `  remaining  ${timeOf(remainingMs)}`];
}

function rowOf({ node, view, error }: NodeInspection, inspection: Inspection, server: Server | undefined): string[] {
  if (view === null) return [node, "", "", "", colors.red(error === null ? "no answer" : problemOf(error, server))];
  const { owner, remainingMs, fence, floor, recoveringMs } = view;
  const labels = new Map(inspection.holders.map((holder) => [holder.owner, holder.label]));
  const holder = shortList(ownersOn(view).map((name) => printable(labels.get(name) ?? name)));
  const notes = [
    ...(floor === undefined ? [] : [`floor ${floor}`]),
    ...(recoveringMs === undefined ? [] : [`does not vote for ${timeOf(recoveringMs)}`]),
  ];
  const time = owner === null ? "" : timeOf(remainingMs);
  return [node, owner === null ? "" : holder, time, String(fence), notes.join(", ")];
}

/**
 * Returns the reason why a server gave no view: the connection error if there is one, which says more than that the
 * client is not connected.
 */
export function problemOf(error: Error, server: Server | undefined): string {
  return reasonOf(server?.connectionError() ?? error);
}

/** Formats the remaining time of a claim. */
export function timeOf(remainingMs: number | null): string {
  return remainingMs === null || remainingMs === Infinity ? "no end" : ms(Math.round(remainingMs));
}
