import { setTimeout as sleep } from "node:timers/promises";
import type { Cleanup } from "@holdfast/testkit/cleanup";
import { createFeed, type Feed } from "./feed.ts";
import { scrape } from "./metrics/scrape.ts";
import { initialModel } from "./model/model.ts";
import { reduce } from "./model/reduce.ts";
import { verdictOf } from "./model/verdict.ts";
import type { DemoOptions } from "./options.ts";
import { play } from "./scenario/play.ts";
import { look, watch } from "./scenario/watch.ts";
import { type Setup, setupOf } from "./setup.ts";
import { summary } from "./view/summary.ts";
import type { Colors } from "./view/text.ts";
import type { View } from "./view/view.ts";
import type { World } from "./world/world.ts";

/** Where a run is shown. */
export interface Stage {
  readonly view: View;
  readonly colors: Colors;
  print(line: string): void;
}

const drawMs = 100;

/** How much longer than planned each act may take before it is cut short. */
const overtimeMs = 15_000;

/** Runs the demo. Resolves with whether every check holds. */
export async function runDemo(options: DemoOptions, stage: Stage, cleanup: Cleanup): Promise<boolean> {
  const { view, colors, print } = stage;
  const setup = setupOf(options);
  const feed = createFeed();
  let model = initialModel(setup);
  feed.subscribe((event) => {
    model = reduce(model, event);
  });
  cleanup.defer(() => view.close());
  const metrics = await runActs(setup, feed, () => view.show(model), cleanup);
  view.close();
  if (setup.metrics) print(`\n${metrics.trimEnd()}`);
  const checks = verdictOf(model);
  for (const line of summary(model, checks, colors)) print(line);
  return checks.every(({ holds }) => holds);
}

/** Resolves with the metrics of the workers, as they were at the end of the scenario. */
async function runActs(setup: Setup, feed: Feed, show: () => void, cleanup: Cleanup): Promise<string> {
  const world = await build(setup, feed, cleanup);
  const end = new AbortController();
  cleanup.defer(() => end.abort());
  const drawing = setInterval(show, drawMs);
  cleanup.defer(() => clearInterval(drawing));
  // A failure is part of the verdict and does not end the run.
  const note = (error: Error): void => feed.emit({ kind: "cut-short", message: error.message });
  const attempt = (work: Promise<void>, timeoutMs: number): Promise<void> => inTime(work, timeoutMs).catch(note);

  const watching = watch(world, setup, feed.emit, end.signal).catch(note);
  await attempt(play(world, setup, feed, end.signal), setup.seconds * 1000 + overtimeMs);
  let metrics = "";
  const read = async (): Promise<void> => {
    metrics = await scrape(world.metricsUrls, end.signal);
  };
  await attempt(read(), overtimeMs);
  await attempt(world.finish(), overtimeMs);
  end.abort();
  await watching;
  // The first look learns of all increments, and the second one compares the counters with them.
  await attempt(look(world, setup, feed.emit), overtimeMs);
  await attempt(look(world, setup, feed.emit), overtimeMs);
  clearInterval(drawing);
  show();
  return metrics;
}

/** Builds the world that the setup asks for, and loads no other. */
async function build(setup: Setup, feed: Feed, cleanup: Cleanup): Promise<World> {
  if (setup.mode === "memory") return (await import("./world/memory-world.ts")).memoryWorld(setup, feed.emit, cleanup);
  return (await import("./world/redis-world.ts")).redisWorld(setup, feed, cleanup);
}

async function inTime(work: Promise<void>, timeoutMs: number): Promise<void> {
  const late = sleep(timeoutMs, undefined, { ref: false }).then(() => {
    throw new Error(`an act did not end within ${timeoutMs / 1000} s`);
  });
  await Promise.race([work, late]);
}
