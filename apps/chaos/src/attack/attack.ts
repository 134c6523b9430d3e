import { monotonicMs } from "@holdfast/testkit/monotonic";
import type { Task } from "../client/messages.ts";
import { startJournal } from "../history/journal.ts";
import type { History } from "../history/visit.ts";
import type { Nemesis } from "../nemeses/nemesis.ts";
import type { ChaosOptions } from "../options.ts";
import type { Slice } from "../schedule.ts";
import type { Client } from "../world/client.ts";
import type { World } from "../world/world.ts";
import { openStage, type Stage, Stuck } from "./stage.ts";

/** The resource that all clients want. */
const resource = "chaos";

/**
 * Lets all clients contend, attacks them, and waits until locks are granted again. Then all clients leave the lock, so that
 * nothing of one attack is left when the next one begins.
 */
export async function attack(
  world: World,
  slice: Slice,
  { ttlMs, mode }: Pick<ChaosOptions, "ttlMs" | "mode">,
  signal: AbortSignal,
): Promise<History> {
  const { nemesis } = slice;
  const journal = startJournal();
  const stage = openStage(world, slice, { ttlMs, journal, signal });
  world.reports.on("message", journal.hear);
  const fromMs = monotonicMs();
  const sets = [world.nodes.map(({ name }) => name)] as const;
  const servers = { generation: 0, sets, restartGuardMs: nemesis.guarded ? ttlMs : 0 };
  const task = taskOf(slice, ttlMs, mode === "election");
  const work = (client: Client, index: number) => client.work(servers, [{ ...task, seed: slice.seed + index }]);
  await Promise.all(world.clients.map(work));
  try {
    const stuck = await strike(stage, nemesis);
    const toMs = monotonicMs();
    await Promise.all(world.clients.map((client) => client.stop()));
    await nemesis.reset?.(stage);
    const { visits, bands } = journal;
    for (const band of bands) band.toMs = Math.min(band.toMs, toMs);
    return { fromMs, toMs, visits, bands, sets: await world.look(`${task.sets}${resource}`), stuck };
  } finally {
    world.reports.off("message", journal.hear);
  }
}

/** Attacks. A wait that times out is a finding and does not end the run. */
async function strike(stage: Stage, nemesis: Nemesis): Promise<string[]> {
  const stuck: string[] = [];
  const note = (error: unknown): void => {
    if (!(error instanceof Stuck)) throw error;
    stuck.push(error.message);
  };
  await stage.nextGrant("a lock before the fault").catch(note);
  await nemesis
    .attack(stage)
    .catch(note)
    .finally(() => stage.heal());
  await stage.nextGrant("a lock after the fault").catch(note);
  return stuck;
}

function taskOf({ number, nemesis, seed }: Slice, ttlMs: number, election: boolean): Task {
  // A term is longer than a lock, as each client waits for a second after it.
  const shares = nemesis.longVisits ? [0.6, 0.8] : election ? [0.1, 0.3] : [0.02, 0.06];
  const [shortestMs = 0, longestMs = 0] = shares.map((share) => share * ttlMs);
  return {
    ...{ resources: [resource], sets: `${number}:`, election, extendEvery: 4, seed },
    ...{ dwellMs: [Math.ceil(shortestMs), Math.floor(longestMs)], restMs: [0, 10] },
  };
}
