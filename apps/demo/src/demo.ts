import { setTimeout as sleep } from "node:timers/promises";
import { type Cleanup, createCleanup } from "@holdfast/testkit/cleanup";
import { createFeed, type Feed } from "./feed.ts";
import { scrape } from "./metrics/scrape.ts";
import { initialModel, type Model } from "./model/model.ts";
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

/**
 * Runs the demo, and undoes everything that it has started, however it ends.
 *
 * @returns whether every check holds
 * @throws the reason of the signal when it aborts; and what keeps the run from being made
 */
export async function runDemo(options: DemoOptions, stage: Stage, interrupt: AbortSignal): Promise<boolean> {
  const setup = setupOf(options);
  const feed = createFeed();
  let model = initialModel(setup);
  feed.subscribe((event) => {
    model = reduce(model, event);
  });
  const cleanup = createCleanup();
  let metrics: string;
  try {
    metrics = await runActs(setup, feed, () => stage.view.show(model), cleanup, interrupt);
  } finally {
    stage.view.close();
    await cleanup.run();
  }
  if (setup.metrics) stage.print(`\n${metrics.trimEnd()}`);
  return conclude(model, stage);
}

/** @returns the metrics of the workers, as they were when the scenario had been played */
async function runActs(
  setup: Setup,
  feed: Feed,
  show: () => void,
  cleanup: Cleanup,
  interrupt: AbortSignal,
): Promise<string> {
  const interrupted = rejectionOf(interrupt);
  const world = await Promise.race([build(setup, feed, cleanup), interrupted]);

  const end = new AbortController();
  cleanup.defer(() => end.abort());
  const drawing = setInterval(show, drawMs);
  cleanup.defer(() => clearInterval(drawing));
  // What fails is part of the verdict, and no reason to end without one.
  const note = (error: Error): void => feed.emit({ kind: "cut-short", message: error.message });
  const attempt = (work: Promise<void>, timeoutMs: number): Promise<void> =>
    Promise.race([inTime(work, timeoutMs).catch(note), interrupted]);

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
  // Once to learn of all increments, and once more to compare the counters with them.
  await attempt(look(world, setup, feed.emit), overtimeMs);
  await attempt(look(world, setup, feed.emit), overtimeMs);
  show();
  return metrics;
}

/** Builds the world that the setup asks for, and loads no other. */
async function build(setup: Setup, feed: Feed, cleanup: Cleanup): Promise<World> {
  if (setup.mode === "memory") return (await import("./world/memory-world.ts")).memoryWorld(setup, feed.emit, cleanup);
  return (await import("./world/redis-world.ts")).redisWorld(setup, feed, cleanup);
}

function conclude(model: Model, { print, colors }: Stage): boolean {
  const checks = verdictOf(model);
  for (const line of summary(model, checks, colors)) print(line);
  return checks.every(({ holds }) => holds);
}

async function inTime(work: Promise<void>, timeoutMs: number): Promise<void> {
  const late = sleep(timeoutMs, undefined, { ref: false }).then(() => {
    throw new Error(`it was not done within ${timeoutMs / 1000} s`);
  });
  await Promise.race([work, late]);
}

function rejectionOf(signal: AbortSignal): Promise<never> {
  const rejection = new Promise<never>((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason));
    if (signal.aborted) reject(signal.reason);
  });
  rejection.catch(() => {});
  return rejection;
}
