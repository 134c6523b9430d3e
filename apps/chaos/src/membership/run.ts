import { setTimeout as sleep } from "node:timers/promises";
import type { Cleanup } from "@holdfast/testkit/cleanup";
import type { ChaosOptions } from "../options.ts";
import { type Change, changesOf, describeStage, type Stage, serversOf } from "../world/stages.ts";
import type { Chronicle, Moment } from "./chronicle.ts";
import { allServed, enterAll } from "./clients.ts";
import { type Findings, judgeRun } from "./judge.ts";
import { startStrikes } from "./strikes.ts";
import { startWorld, type World } from "./world.ts";

/** The time between two clients that change to another stage, in milliseconds. */
const gapMs = 150;

/** A server that restarted does not vote for a ttl and this time: so long that it is healed before, which takes a ttl. */
const guardedMs = 3_000;

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
  sets: readonly (readonly string[])[],
  onMoment: (moment: Moment) => void,
  cleanup: Cleanup,
  signal: AbortSignal,
): Promise<MembershipRun> {
  const changes = changesOf(sets, options.ttlMs + guardedMs);
  const world = await startWorld(options, changes, onMoment, cleanup);
  return Promise.race([play(world, changes, options, signal), world.broken]);
}

async function play(
  world: World,
  changes: readonly Change[],
  options: ChaosOptions,
  signal: AbortSignal,
): Promise<MembershipRun> {
  const { clients, chronicle } = world;
  const [first, last] = [changes[0]?.before, changes.at(-1)?.after] as [Stage, Stage];
  let inUse = first;
  const use = (stage: Stage): void => {
    inUse = stage;
    chronicle.onDuty(serversOf(stage));
  };
  use(first);
  await allServed(clients, first, chronicle);
  const strikes = startStrikes({
    ...world,
    ttlMs: options.ttlMs,
    restartGuardMs: first.restartGuardMs,
    nodes: () => world.nodes.filter(({ name }) => serversOf(inUse).includes(name)),
    heal: (server) => world.operator.heal(inUse, server),
    unlessBusy: world.operator.unlessBusy,
  });
  const calm = (): Promise<void> => sleep((options.seconds * 1_000) / (changes.length + 1), undefined, { signal });
  const script = async (): Promise<string[]> => {
    chronicle.note(`${clients.length} clients lock with ${describeStage(first)}`);
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
    const unserved = await allServed(clients, last, chronicle);
    await Promise.all(clients.map((member) => member.leave()));
    chronicle.note("all clients have left");
    return unserved;
  };
  const unserved = await Promise.race([script(), strikes.failed]);
  return { chronicle, findings: judgeRun(chronicle, await world.lookAtAll(), unserved) };
}

/** Takes all clients from one set of servers to another. */
async function changeServers(world: World, change: Change, signal: AbortSignal): Promise<void> {
  const { clients, operator, chronicle } = world;
  const { before, joint, after } = change;
  await operator.stepWithKills(change, "begin");
  chronicle.note(`begin: clients of epoch ${before.epoch} and ${joint.epoch} are served`);
  await operator.probe(after, "refused");
  signal.throwIfAborted();
  await enterAll(clients, joint, clients.length * gapMs);
  chronicle.note(`all clients have changed to ${describeStage(joint)}`);
  signal.throwIfAborted();
  await operator.stepWithKills(change, "join");
  chronicle.note(`join: clients of epoch ${joint.epoch} and ${after.epoch} are served`);
  await operator.probe(before, "refused");
  signal.throwIfAborted();
  await enterAll(clients, after, clients.length * gapMs);
  chronicle.note(`all clients have changed to ${describeStage(after)}`);
  signal.throwIfAborted();
  await operator.stepWithKills(change, "end");
  chronicle.note(`end: clients of epoch ${after.epoch} are served`);
  await operator.probe(joint, "refused");
  await operator.probe(after, "served");
}

/** Stops the servers that are no longer in use, for good. */
async function retire({ nodes, chronicle }: World, { joint, after }: Change): Promise<void> {
  const kept = serversOf(after);
  const retired = serversOf(joint).filter((name) => !kept.includes(name));
  await Promise.all(nodes.filter(({ name }) => retired.includes(name)).map(({ server }) => server.stop()));
  chronicle.note(`${retired.join(" ")} ${retired.length === 1 ? "is" : "are"} stopped for good`);
}
