import { setTimeout as sleep } from "node:timers/promises";
import { monotonicMs } from "@holdfast/testkit/monotonic";
import type { DemoEvent } from "../events.ts";
import type { Feed } from "../feed.ts";
import type { Setup } from "../setup.ts";
import type { World } from "../world/world.ts";
import { timelineOf } from "./timeline.ts";

/** The shortest pause, and the shortest absence of a node, in ttls. */
const pastTtl = 1.25;

/** How long to wait for another worker to take over from the sleeper. */
const takeoverTimeoutMs = 10_000;

/**
 * Plays a run: workers contend, two nodes die and come back, and a worker is paused past its ttl.
 *
 * @throws the reason of the signal, when it aborts
 */
export async function play(world: World, setup: Setup, feed: Feed, signal: AbortSignal): Promise<void> {
  const { emit } = feed;
  const beganAtMs = monotonicMs();
  const until = (atMs: number): Promise<void> => sleepUntil(beganAtMs + atMs, signal);
  const timeline = timelineOf(setup.seconds);
  const [, first = "", , second = ""] = setup.nodes;

  emit({ kind: "began" });
  world.start();

  await until(timeline.firstKillMs);
  const restartFirst = await kill(world, setup, feed, first);
  await until(timeline.secondKillMs);
  const restartSecond = await kill(world, setup, feed, second);

  await until(timeline.firstRestartMs);
  await restartFirst(signal);
  await until(timeline.secondRestartMs);
  await restartSecond(signal);

  await until(timeline.pauseMs);
  await pauseSleeper(world, setup, feed, signal);

  await until(timeline.endMs);
}

/** Kills a node. Returns a function that restarts it, after every lock that it may have forgotten has ended. */
async function kill(
  world: World,
  { ttlMs }: Setup,
  { emit }: Feed,
  node: string,
): Promise<(signal: AbortSignal) => Promise<void>> {
  await world.kill(node);
  emit({ kind: "node-killed", node });
  const killedAtMs = monotonicMs();
  return async (signal) => {
    await sleepUntil(killedAtMs + pastTtl * ttlMs, signal);
    emit({ kind: "node-restarting", node });
    await world.restart(node);
    emit({ kind: "node-back", node, memory: world.nodeMemory, awayMs: monotonicMs() - killedAtMs });
  };
}

/** Pauses the sleeper past its ttl, and until another worker has written the same counter. */
async function pauseSleeper(world: World, setup: Setup, feed: Feed, signal: AbortSignal): Promise<void> {
  const { sleeper: worker, sleeperResource: resource, ttlMs } = setup;
  await world.pauseSleeper();
  feed.emit({ kind: "paused", worker, resource });
  const pausedAtMs = monotonicMs();
  const isTakeover = (event: DemoEvent): boolean =>
    event.kind === "left" &&
    event.visit.resource === resource &&
    event.visit.enteredAtMs > pausedAtMs &&
    event.visit.write === "accepted";
  const inTime = AbortSignal.any([signal, AbortSignal.timeout(takeoverTimeoutMs)]);
  const takenOver = feed.next(isTakeover, inTime);
  await sleepUntil(pausedAtMs + pastTtl * ttlMs, signal);
  await takenOver;
  signal.throwIfAborted();
  feed.emit({ kind: "resumed", worker, pausedMs: monotonicMs() - pausedAtMs });
  await world.resumeSleeper();
}

async function sleepUntil(atMs: number, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  try {
    await sleep(Math.max(0, atMs - monotonicMs()), undefined, { signal });
  } catch {
    signal.throwIfAborted();
  }
}
