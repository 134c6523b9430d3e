import { monotonicMs } from "@holdfast/testkit/monotonic";
import { lostUpdates, type Model } from "../model/model.ts";
import { toned } from "./log.ts";
import { type Colors, duration, percentile } from "./text.ts";
import type { View } from "./view.ts";

/** Prints a line for each event in the log, and a status line every second. */
export function plainView(output: NodeJS.WritableStream, colors: Colors): View {
  let printed = 0;
  let second = 0;
  const print = (atMs: number, text: string): void => {
    output.write(`${(atMs / 1000).toFixed(1).padStart(5)} s  ${text}\n`);
  };
  return {
    show(model) {
      for (const { atMs, tone, text } of model.log.slice(printed)) print(atMs, toned(tone, text, colors));
      printed = model.log.length;
      const passedMs = model.beganAtMs === null ? 0 : monotonicMs() - model.beganAtMs;
      if (passedMs < 1000 * (second + 1)) return;
      second = Math.floor(passedMs / 1000);
      print(passedMs, colors.dim(status(model)));
    },
    close() {},
  };
}

/** The state of the run, in one line. */
function status(model: Model): string {
  const { nodes, resources, waitsMs, staleWritesRefused } = model;
  const up = nodes.filter(({ state }) => state === "up").length;
  const holders = resources.map(({ name, seen }) => `${name} ${seen.holder ?? "free"}`);
  return [
    `${up} of ${nodes.length} nodes`,
    `${waitsMs.length} ${model.setup.locked ? "locks" : "visits"}`,
    `median wait ${duration(percentile(waitsMs, 0.5))}`,
    `lost updates ${lostUpdates(model)}`,
    `stale writes refused ${staleWritesRefused}`,
    holders.join(", "),
  ].join(" | ");
}
