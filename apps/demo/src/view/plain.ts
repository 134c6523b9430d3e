import { monotonicMs } from "@holdfast/testkit/monotonic";
import { lostUpdates } from "../model/lost-updates.ts";
import type { Model } from "../model/model.ts";
import { percentile } from "../model/percentile.ts";
import { toned } from "./log.ts";
import { type Colors, duration } from "./text.ts";
import type { View } from "./view.ts";

/** A line for each thing that is worth telling, and one each second for how it goes. */
export function plainView(output: NodeJS.WritableStream, colors: Colors): View {
  let told = 0;
  let second = 0;
  const print = (atMs: number, text: string): void => {
    output.write(`${(atMs / 1000).toFixed(1).padStart(5)} s  ${text}\n`);
  };
  return {
    show(model) {
      for (const { atMs, tone, text } of model.log.slice(told)) print(atMs, toned(tone, text, colors));
      told = model.log.length;
      const passedMs = model.beganAtMs === null ? 0 : monotonicMs() - model.beganAtMs;
      if (passedMs < 1000 * (second + 1)) return;
      second = Math.floor(passedMs / 1000);
      print(passedMs, colors.dim(status(model)));
    },
    close() {},
  };
}

/** How it goes, in one line. */
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
