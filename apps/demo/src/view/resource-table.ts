import type { Model, ResourceState } from "../model/model.ts";
import { bar, type Colors, cell, duration } from "./text.ts";

/** The widths of the columns. The bar and the waiting workers share the rest. */
function columnsOf(width: number) {
  const fixed = { name: 15, holder: 9, left: 7, fence: 17, increments: 6 };
  const rest = width - Object.values(fixed).reduce((sum, column) => sum + column) - 3;
  const bar = Math.floor(rest * 0.6);
  return { ...fixed, bar, waiting: rest - bar };
}

/** A table of resources: holder, remaining time, token, counter, and waiting workers. */
export function resourceTable(model: Model, width: number, colors: Colors): readonly string[] {
  const w = columnsOf(width);
  const heading = [
    cell(" resource", w.name),
    cell("held by", w.holder),
    cell("ttl left", w.bar + 1 + w.left),
    cell("token", w.fence),
    "count".padStart(w.increments),
    "  waiting",
  ].join("");
  return [colors.dim(heading), ...model.resources.map((resource) => resourceRow(model, resource, w, colors))];
}

function resourceRow(model: Model, resource: ResourceState, w: ReturnType<typeof columnsOf>, colors: Colors): string {
  const { seen, lostUpdates: lost } = resource;
  const isPaused = seen.holder === model.setup.sleeper && model.pause !== null && model.pause.write === null;
  const paint = isPaused ? colors.yellow : colors.cyan;
  const holder = isPaused ? `${seen.holder}!` : (seen.holder ?? "");
  const waiting = [...model.waiting].filter(([, name]) => name === resource.name).map(([worker]) => worker);
  const remaining = seen.holder === null ? "" : duration(seen.remainingMs);
  const count = String(seen.value).padStart(w.increments);
  return [
    ` ${resource.name}${colors.dim(cell(resource.fenced ? " fenced" : "", w.name - 1 - resource.name.length))}`,
    seen.holder === null ? colors.dim(cell("free", w.holder)) : paint(cell(holder, w.holder)),
    bar(seen.holder === null ? 0 : (seen.remainingMs ?? 0) / model.setup.ttlMs, w.bar, paint, colors),
    " ",
    cell(remaining, w.left),
    colors.dim(cell(seen.fence === 0 ? "" : String(seen.fence), w.fence)),
    lost > 0 ? colors.red(count) : count,
    "  ",
    colors.dim(workersIn(waiting, w.waiting)),
  ].join("");
}

/** Lists as many names as fit, and the number of the others. */
function workersIn(workers: readonly string[], width: number): string {
  for (let shown = workers.length; shown >= 0; shown--) {
    const more = workers.length - shown;
    const text = [...workers.slice(0, shown), ...(more > 0 ? [`+${more}`] : [])].join(" ");
    if (text.length <= width) return text;
  }
  return "";
}
