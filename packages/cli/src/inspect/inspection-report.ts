/** The report of `inspect`, as text and as JSON. */
import type { Inspection, NodeInspection } from "@holdfast/core";
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

/**
 * Returns the report for programs. Keys may be added, but existing ones do not change.
 *
 * @returns one line of JSON
 */
export function inspectionJson(inspection: Inspection, servers: readonly Server[]): string {
  return JSON.stringify(inspectionRecord(inspection, servers));
}

/** Returns the report for programs as an object. */
export function inspectionRecord(inspection: Inspection, servers: readonly Server[]): object {
  const { resource, state, owner, label, remainingMs, fence, nodes } = inspection;
  return {
    resource,
    state,
    owner,
    label,
    remainingMs: remainingMs === null ? null : Math.round(remainingMs),
    fence,
    nodes: nodes.map(({ node, view, error }, index) => ({
      node,
      owner: view?.owner ?? null,
      remainingMs: view?.remainingMs == null ? null : Math.round(view.remainingMs),
      fence: view?.fence ?? null,
      recoveringMs: view?.recoveringMs ?? null,
      error: error === null ? null : problemOf(error, servers[index]),
    })),
  };
}

/** Returns a string that differs between two reports unless only the remaining time has changed. */
export function essenceOf({ state, owner, fence, nodes }: Inspection): string {
  const views = nodes.map(({ view, error }) => [
    view?.owner,
    view?.fence,
    view?.recoveringMs !== undefined,
    error !== null,
  ]);
  return JSON.stringify([state, owner, fence, views]);
}

/** Returns the holder for display. */
export function holderOf({ label, owner }: Inspection): string {
  return printable(label ?? owner ?? "nobody");
}

function verdictOf(inspection: Inspection): string {
  const { state, nodes } = inspection;
  if (state === "held") return `is ${colors.yellow("held")} by ${holderOf(inspection)}`;
  if (state === "free") return `is ${colors.green("free")}`;
  const answered = nodes.filter(({ view }) => view !== null).length;
  return `may be held or free: ${answered} of ${nodes.length} servers ${colors.red("answered")}, too few to tell`;
}

function factsOf({ state, owner, fence, remainingMs }: Inspection): string[] {
  if (state !== "held") return fence === 0 ? [] : [`  fence      ${fence}, the last one`];
  return [`  owner      ${printable(owner ?? "")}`, `  fence      ${fence}`, `  remaining  ${timeOf(remainingMs)}`];
}

function rowOf({ node, view, error }: NodeInspection, inspection: Inspection, server: Server | undefined): string[] {
  if (view === null) return [node, "", "", "", colors.red(error === null ? "no answer" : problemOf(error, server))];
  const { owner, remainingMs, fence, recoveringMs } = view;
  const holder = owner === inspection.owner ? holderOf(inspection) : printable(owner ?? "");
  const note = recoveringMs === undefined ? "" : `does not vote for ${timeOf(recoveringMs)}`;
  return [node, owner === null ? "" : holder, owner === null ? "" : timeOf(remainingMs), String(fence), note];
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
