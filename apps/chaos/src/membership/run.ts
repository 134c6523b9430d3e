import { setTimeout as sleep } from "node:timers/promises";
import { writeFiles } from "@holdfast/app-kit/report";
import type { Cleanup } from "@holdfast/testkit/cleanup";
import type { ChaosOptions } from "../options.ts";
import {
  type Change,
  changesOf,
  describeStage,
  nameOf,
  type Stage,
  serversOf,
  threeToFiveToFive,
} from "../world/stages.ts";
import { createTurns } from "../world/turns.ts";
import { allServed, enterAll } from "./clients.ts";
import { judgeRun } from "./judge.ts";
import { headOf, pageOf, verdictOf } from "./report.ts";
import { strike } from "./strikes.ts";
import { startWorld, type World } from "./world.ts";

/** The time between two clients that change to another stage, in milliseconds. */
const gapMs = 150;

/** A server that restarted does not vote for a ttl and this time: so long that it is healed before, which takes a ttl. */
const guardedMs = 3_000;

/**
 * Lets clients lock while their servers change and everything is struck by faults, prints the transcript, and resolves with
 * whether nothing was violated.
 *
 * @param sets the servers before the first change, and after each
 */
export async function playMembership(
  options: ChaosOptions,
  cleanup: Cleanup,
  signal: AbortSignal,
  sets = threeToFiveToFive,
): Promise<boolean> {
  console.log(headOf(options));
  const changes = changesOf(sets, options.ttlMs + guardedMs);
  const world = await startWorld(options, changes, console.log, cleanup);
  const unserved = await Promise.race([play(world, changes, options, signal), world.broken]);
  const { chronicle } = world;
  const findings = judgeRun(chronicle, await world.lookAtAll(), unserved);
  console.log(`\n${verdictOf(options, chronicle, findings)}`);
  if (options.report !== undefined) {
    const files = new Map([["README.md", pageOf(options, chronicle, findings)]]);
    console.log(`The report is ${await writeFiles(options.report, files)}.`);
  }
  return findings.violations.length === 0;
}

/** Plays a run, and resolves with the clients that were granted no lock at the last stage. */
async function play(
  world: World,
  changes: readonly Change[],
  options: ChaosOptions,
  signal: AbortSignal,
): Promise<string[]> {
  const { clients, chronicle } = world;
  const [first, last] = [changes[0]?.before, changes.at(-1)?.after] as [Stage, Stage];
  let inUse = first;
  await allServed(clients, first, chronicle);
  const stopping = new AbortController();
  const betweenServers = createTurns();
  const strikes = strike({ ...world, ttlMs: options.ttlMs, stage: () => inUse }, betweenServers, stopping.signal);
  const calm = (): Promise<void> => sleep((options.seconds * 1_000) / (changes.length + 1), undefined, { signal });
  const script = async (): Promise<string[]> => {
    chronicle.note(`${clients.length} clients lock with ${describeStage(first)}`);
    await calm();
    for (const change of changes) {
      inUse = change.joint;
      await changeServers(world, change, signal);
      await betweenServers(async () => {
        inUse = change.after;
        await retire(world, change);
      });
      await calm();
    }
    stopping.abort();
    await strikes;
    const unserved = await allServed(clients, last, chronicle);
    await Promise.all(clients.map((member) => member.leave()));
    chronicle.note("all clients have left");
    return unserved;
  };
  const [unserved] = await Promise.all([script(), strikes]);
  return unserved;
}

/** Takes all clients from one set of servers to another. */
async function changeServers(world: World, change: Change, signal: AbortSignal): Promise<void> {
  const { clients, operator, chronicle } = world;
  const { before, joint, after } = change;
  const steps = [
    { step: "begin", served: [before, joint], refused: after, next: joint },
    { step: "join", served: [joint, after], refused: before, next: after },
    { step: "end", served: [after], refused: joint, next: undefined },
  ] as const;
  for (const { step, served, refused, next } of steps) {
    signal.throwIfAborted();
    await operator.step(change, step);
    chronicle.note(`${step}: clients of ${served.map(nameOf).join(" and of ")} are served`);
    await operator.probe(refused, "refused");
    if (next === undefined) continue;
    signal.throwIfAborted();
    await enterAll(clients, next, clients.length * gapMs);
    chronicle.note(`all clients have changed to ${describeStage(next)}`);
  }
  await operator.probe(after, "served");
}

/** Stops the servers that are no longer in use, for good. */
async function retire({ nodes, chronicle }: World, { joint, after }: Change): Promise<void> {
  const kept = serversOf(after);
  const retired = serversOf(joint).filter((name) => !kept.includes(name));
  await Promise.all(nodes.filter(({ name }) => retired.includes(name)).map(({ server }) => server.stop()));
  chronicle.note(`${retired.join(" ")} ${retired.length === 1 ? "is" : "are"} stopped for good`);
}
