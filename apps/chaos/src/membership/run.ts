import { setTimeout as sleep } from "node:timers/promises";
import type { Cleanup } from "@holdfast/testkit/cleanup";
import type { ChaosOptions } from "../options.ts";
import type { Chronicle, Moment } from "./chronicle.ts";
import { allServed, enterAll } from "./crew.ts";
import { type Findings, judgeRun } from "./judge.ts";
import type { MemberServer } from "./servers.ts";
import { type Change, describeStage, type Stage, serversOf } from "./stages.ts";
import { startStrikes } from "./strikes.ts";
import { startWorld, type World } from "./world.ts";

/** The time between two clients that change to another stage, in milliseconds. */
const gapMs = 150;

/** How long a server does not vote after a restart: so long that it is healed before, which takes a ttl. */
const guardMs = (ttlMs: number): number => ttlMs + 3_000;

/** A run and its results. */
export interface MembershipRun {
  readonly chronicle: Chronicle;
  readonly findings: Findings;
}

/**
 * Lets clients lock while their servers change twice and everything is struck by faults.
 *
 * @param onMoment is called for each line of the transcript
 */
export async function runMembership(
  options: ChaosOptions,
  changes: readonly Change[],
  onMoment: (moment: Moment) => void,
  cleanup: Cleanup,
  signal: AbortSignal,
): Promise<MembershipRun> {
  const world = await startWorld({ ...options, restartGuardMs: guardMs(options.ttlMs) }, changes, onMoment, cleanup);
  return Promise.race([play(world, changes, options, signal), world.broken]);
}

async function play(
  world: World,
  changes: readonly Change[],
  options: ChaosOptions,
  signal: AbortSignal,
): Promise<MembershipRun> {
  const { members, recorder } = world;
  const [first, last] = [changes[0]?.before, changes.at(-1)?.after] as [Stage, Stage];
  let inUse = first;
  const use = (stage: Stage): void => {
    inUse = stage;
    recorder.onDuty(serversOf(stage));
  };
  use(first);
  await allServed(members, first, recorder);
  const strikes = startStrikes({
    ...world,
    ttlMs: options.ttlMs,
    servers: () => serversOf(inUse).map((name) => world.servers.get(name) as MemberServer),
    heal: (server) => world.operator.heal(inUse, server),
    unlessBusy: world.operator.unlessBusy,
  });
  const calm = (): Promise<void> => sleep((options.seconds * 1_000) / (changes.length + 1), undefined, { signal });
  const script = async (): Promise<string[]> => {
    recorder.note(`${members.length} clients lock with ${describeStage(first)}`);
    await calm();
    for (const change of changes) {
      use(change.joint);
      await changeServers(world, change, signal);
      await strikes.betweenServers(async () => {
        use(change.after);
        await retire(world, change);
      });
      await calm();
    }
    await strikes.stop();
    const unserved = await allServed(members, last, recorder);
    await Promise.all(members.map((member) => member.leave()));
    recorder.note("all clients have left");
    return unserved;
  };
  const unserved = await Promise.race([script(), strikes.failed]);
  const findings = judgeRun(recorder.chronicle, await world.look(), unserved);
  return { chronicle: recorder.chronicle, findings };
}

/** Takes all clients from one set of servers to another. */
async function changeServers(world: World, change: Change, signal: AbortSignal): Promise<void> {
  const { members, operator, recorder } = world;
  const { before, joint, after } = change;
  await operator.stepWithKills(change, "begin");
  recorder.note(`begin: clients of epoch ${before.epoch} and ${joint.epoch} are served`);
  await operator.probe(after, "refused");
  signal.throwIfAborted();
  await enterAll(members, joint, members.length * gapMs);
  recorder.note(`all clients have changed to ${describeStage(joint)}`);
  signal.throwIfAborted();
  await operator.stepWithKills(change, "join");
  recorder.note(`join: clients of epoch ${joint.epoch} and ${after.epoch} are served`);
  await operator.probe(before, "refused");
  signal.throwIfAborted();
  await enterAll(members, after, members.length * gapMs);
  recorder.note(`all clients have changed to ${describeStage(after)}`);
  signal.throwIfAborted();
  await operator.stepWithKills(change, "end");
  recorder.note(`end: clients of epoch ${after.epoch} are served`);
  await operator.probe(joint, "refused");
  await operator.probe(after, "served");
}

/** Stops the servers that are no longer in use, for good. */
async function retire({ servers, recorder }: World, { joint, after }: Change): Promise<void> {
  const kept = serversOf(after);
  const retired = serversOf(joint).filter((name) => !kept.includes(name));
  await Promise.all(retired.map((name) => servers.get(name)?.stop()));
  recorder.note(`${retired.join(" ")} ${retired.length === 1 ? "is" : "are"} stopped for good`);
}
