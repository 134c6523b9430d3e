import { lostUpdates, type Model, type NodeState } from "../model/model.ts";
import { logLines } from "./log.ts";
import { resourceTable } from "./resource-table.ts";
import { bar, type Colors, cell, duration, waitsText } from "./text.ts";

/** The size of the terminal. */
export interface Size {
  readonly columns: number;
  readonly rows: number;
}

/** Draws the run as lines that fit into the terminal. */
export function frame(model: Model, nowMs: number, { columns, rows }: Size, colors: Colors): readonly string[] {
  const width = Math.max(60, Math.min(columns - 1, 120));
  const above = [
    title(model, colors),
    "",
    `${label("nodes", colors)}${model.nodes.map((node) => nodeCell(node, nowMs, colors)).join("   ")}`,
    "",
    ...resourceTable(model, width, colors),
    "",
    `${label("time", colors)}${progress(model, nowMs, width - labelWidth - 14, colors)}`,
    ...totals(model, colors),
    "",
  ];
  // One row stays free for the cursor.
  return [...above, ...logLines(model.log, width, rows - 1 - above.length, colors)];
}

const labelWidth = 11;

function label(text: string, colors: Colors): string {
  return colors.dim(cell(` ${text}`, labelWidth));
}

function title({ setup }: Model, { bold, dim, red }: Colors): string {
  const [nodes, workers] = setup.mode === "redis" ? ["redis-servers", "worker processes"] : ["memory nodes", "workers"];
  const counts = [`${setup.nodes.length} ${nodes}`, `${setup.workers.length} ${workers}`];
  const parts = [...counts, `ttl ${duration(setup.ttlMs)}`];
  const warning = setup.locked ? "" : red("  WITHOUT LOCKS");
  return ` ${bold("Holdfast")}  ${dim(parts.join(" · "))}${warning}`;
}

function nodeCell({ name, state, sinceMs }: NodeState, nowMs: number, { green, red, yellow }: Colors): string {
  if (state === "up") return `${green("●")} ${name} ${green("up")}`;
  if (state === "restarting") return `${yellow("◐")} ${name} ${yellow("restarting")}`;
  return `${red("○")} ${name} ${red(`down ${((nowMs - sinceMs) / 1000).toFixed(0)} s`)}`;
}

function progress({ setup, beganAtMs }: Model, nowMs: number, width: number, colors: Colors): string {
  const passedS = beganAtMs === null ? 0 : (nowMs - beganAtMs) / 1000;
  const share = Math.min(1, passedS / setup.seconds);
  const words = `${Math.min(passedS, setup.seconds).toFixed(0)} of ${setup.seconds} s`;
  return `${bar(share, width, colors.dim, colors)} ${words}`;
}

function totals(model: Model, colors: Colors): readonly string[] {
  const { waitsMs } = model;
  const lost = lostUpdates(model);
  const granted = model.setup.locked ? "granted" : "visits without one";
  const updates = `${lost} lost`;
  const refused = `${model.staleWritesRefused} refused`;
  return [
    `${label("locks", colors)}${waitsMs.length} ${granted}   waits: ${waitsText(waitsMs)}`,
    `${label("updates", colors)}${lost > 0 ? colors.red(updates) : colors.green(updates)}   stale writes: ${refused}`,
  ];
}
