import { stripVTControlCharacters } from "node:util";
import { monotonicMs } from "@holdfast/testkit/monotonic";
import { createLogUpdate } from "log-update";
import picocolors from "picocolors";
import wrapAnsi from "wrap-ansi";
import { resources, sleeper } from "./options.ts";
import { colors, duration, type NodeState, type Run, type Sample } from "./run.ts";
import type { Check } from "./verdict.ts";

const { bold, cyan, dim, green, red, yellow } = colors;

/** Shows a run in progress: its current state, often; and at the end leaves the cursor below. */
export type View = ReturnType<typeof liveView>;

/** Removes the colours, unless the output supports them. */
export function forOutput(text: string): string {
  return picocolors.isColorSupported ? text : stripVTControlCharacters(text);
}

/** Redraws a picture in place. */
export function liveView(terminal: NodeJS.WriteStream) {
  const draw = createLogUpdate(terminal);
  return {
    show: (run: Run): void => draw(forOutput(frame(run, monotonicMs(), terminal).join("\n"))),
    close: (): void => draw.done(),
  };
}

/** Prints a line for each entry of the log, and a status line every second. */
export function plainView(output: NodeJS.WritableStream): View {
  let printed = 0;
  let second = 0;
  const print = (atMs: number, text: string): void => {
    output.write(forOutput(`${(atMs / 1000).toFixed(1).padStart(5)} s  ${text}\n`));
  };
  return {
    show(run) {
      const { log, beganAtMs } = run;
      for (const { atMs, text } of log.slice(printed)) print(atMs, text);
      printed = log.length;
      const passedMs = beganAtMs === null ? 0 : monotonicMs() - beganAtMs;
      if (passedMs < 1000 * (second + 1)) return;
      second = Math.floor(passedMs / 1000);
      print(passedMs, dim(status(run)));
    },
    close() {},
  };
}

/** The state of the run, in one line. */
function status(run: Run): string {
  return [
    `${run.nodesUp} of ${run.nodes.size} nodes`,
    `${run.waitsMs.length} ${run.setup.locked ? "locks" : "visits"}`,
    `median wait ${duration(percentile(run.waitsMs, 0.5))}`,
    `lost updates ${run.lostUpdates}`,
    `stale writes refused ${run.staleWritesRefused}`,
    [...run.samples].map(([name, { label }]) => `${name} ${label ?? "free"}`).join(", "),
  ].join(" | ");
}

/** Draws the run as lines that fit into the terminal. */
export function frame(run: Run, nowMs: number, terminal: { columns: number; rows: number }): readonly string[] {
  const { setup, waitsMs, lostUpdates: lost } = run;
  const width = Math.max(60, Math.min(terminal.columns - 1, 120));
  const [nodes, workers] = setup.redis ? ["redis-servers", "worker processes"] : ["memory nodes", "workers"];
  const sizes = `${run.nodes.size} ${nodes} · ${setup.workers.length} ${workers} · ttl ${duration(setup.redlock.ttlMs)}`;
  const passedS = Math.min(setup.seconds, run.beganAtMs === null ? 0 : (nowMs - run.beganAtMs) / 1000);
  const progress = bar(passedS / setup.seconds, width - labelWidth - 14, dim);
  const above = [
    ` ${bold("Holdfast")}  ${dim(sizes)}${setup.locked ? "" : red("  WITHOUT LOCKS")}`,
    "",
    `${heading("nodes")}${Array.from(run.nodes, (node) => nodeCell(node, nowMs)).join("   ")}`,
    "",
    ...resourceTable(run, width),
    "",
    `${heading("time")}${progress} ${passedS.toFixed(0)} of ${setup.seconds} s`,
    `${heading("locks")}${waitsMs.length} ${setup.locked ? "granted" : "visits without one"}   waits: ${waits(waitsMs)}`,
    `${heading("updates")}${(lost > 0 ? red : green)(`${lost} lost`)}   stale writes: ${run.staleWritesRefused} refused`,
    "",
  ];
  // One row stays free for the cursor.
  return [...above, ...latest(run.log, width, terminal.rows - 1 - above.length)];
}

const labelWidth = 11;
const heading = (text: string): string => dim(` ${text}`.padEnd(labelWidth));

function nodeCell([name, { state, sinceMs }]: [string, NodeState], nowMs: number): string {
  const words = state === "down" ? `down ${((nowMs - sinceMs) / 1000).toFixed(0)} s` : state;
  const mark = { up: "●", down: "○", restarting: "◐" }[state];
  const paint = { up: green, down: red, restarting: yellow }[state];
  return `${paint(mark)} ${name} ${paint(words)}`;
}

/** A table of resources: holder, remaining time, token, counter, and waiting workers. */
function resourceTable(run: Run, width: number): readonly string[] {
  // The bar and the waiting workers share what the other columns leave.
  const barWidth = Math.floor((width - 57) * 0.6);
  const columns = ` resource      held by  ${"ttl left".padEnd(barWidth + 8)}token             count  waiting`;
  const rows = resources.map(({ name, fenced }) => {
    const { label, remainingMs, fence, value, lost } = run.samples.get(name) as Sample;
    const isPaused = label === sleeper && run.isPaused;
    const [paint, paintCount] = [isPaused ? yellow : label ? cyan : dim, lost > 0 ? red : String];
    const share = (remainingMs ?? 0) / run.setup.redlock.ttlMs;
    return [
      ` ${name}${dim((fenced ? " fenced" : "").padEnd(14 - name.length))}`,
      paint(cell(`${label ?? "free"}${isPaused ? "!" : ""}`, 9)),
      `${bar(share, barWidth, paint)} ${cell(label ? duration(remainingMs) : "", 7)}`,
      dim(cell(String(fence || ""), 17)),
      paintCount(String(value).padStart(6)),
      `  ${dim(cell(run.waiting(name).join(" "), width - 57 - barWidth))}`,
    ].join("");
  });
  return [dim(columns), ...rows];
}

/** Returns the latest entries of the log that fit. */
function latest(log: Run["log"], width: number, room: number): readonly string[] {
  const entries = log.slice(-room).map(({ atMs, text }) => {
    const time = `${(atMs / 1000).toFixed(1)} s`.padStart(7);
    const lines = wrapAnsi(text, width - 9, { hard: true }).split("\n");
    return lines.map((line, index) => `${index === 0 ? dim(time) : " ".repeat(7)}  ${line}`);
  });
  while (entries.flat().length > room) entries.shift();
  return entries.flat();
}

/** The figures and checks of a run, and whether anything was violated. */
export function summary(run: Run, checks: readonly Check[]): readonly string[] {
  const { setup, waitsMs } = run;
  const violated = checks.flatMap(([claim, holds]) => (holds ? [] : [claim]));
  const figures = [
    [setup.locked ? "locks granted" : "visits without a lock", waitsMs.length],
    ["waits", waits(waitsMs)],
    [
      "went elsewhere",
      `${run.failures("WAIT_TIMEOUT")} times, after a wait of ${duration(setup.redlock.waitTimeoutMs)}`,
    ],
    ["increments", resources.map(({ name }) => `${name} ${run.increments(name)}`).join(", ")],
    ["lost updates", run.lostUpdates],
    ["stale writes refused", run.staleWritesRefused],
    ["gave up, no quorum", run.failures("QUORUM_UNREACHABLE") || undefined],
    ["locks lost", run.failures("LOCK_LOST") || undefined],
  ];
  return [
    "",
    ...figures.flatMap(([name, value]) => (value === undefined ? [] : [` ${String(name).padEnd(22)} ${value}`])),
    "",
    ...checks.map(([claim, holds, finding]) => ` ${holds ? green("✓") : red("✗")} ${claim} ${dim(`(${finding})`)}`),
    "",
    ` ${violated.length === 0 ? green("Nothing was violated.") : red(`VIOLATED: ${violated.join("; ")}`)}`,
  ];
}

/** Pads the text with blanks to this width, or cuts it and ends it with an ellipsis. */
function cell(text: string, width: number): string {
  return text.length <= width ? text.padEnd(width) : `${text.slice(0, width - 1)}…`;
}

/** A bar that is filled to this share. */
function bar(share: number, width: number, paint: (text: string) => string): string {
  const full = Math.round(Math.min(1, Math.max(0, share)) * width);
  return paint("━".repeat(full)) + dim("─".repeat(width - full));
}

/** The smallest of the values that at least this share of them do not exceed (nearest rank); null if there are none. */
function percentile(values: readonly number[], share: number): number | null {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? null;
}

/** The median and the 99th percentile of waiting times. */
function waits(waitsMs: readonly number[]): string {
  return `median ${duration(percentile(waitsMs, 0.5))}, 99th percentile ${duration(percentile(waitsMs, 0.99))}`;
}
