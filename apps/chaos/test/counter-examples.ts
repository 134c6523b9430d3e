import { setTimeout as sleep } from "node:timers/promises";
import type { Cleanup } from "@holdfast/testkit/cleanup";
import { allServed, enterAll } from "../src/membership/clients.ts";
import { type Findings, judgeRun } from "../src/membership/judge.ts";
import { startWorld, type World, type WorldOptions } from "../src/membership/world.ts";
import { names } from "../src/names.ts";
import { type Change, changesOf } from "../src/world/stages.ts";

/** How long the clients lock in each stage, in milliseconds. */
const phaseMs = 2_000;

/**
 * Half of the clients go from three servers to three others at once, without being joint. Nodes refuse them, unless
 * `without` is `epochs`.
 */
export function skipStage(options: WorldOptions, cleanup: Cleanup): Promise<Findings> {
  return change(options, cleanup, async ({ clients, operator }, { after }) => {
    await operator.step(twoSets, "begin", false);
    await sleep(phaseMs);
    const early = clients.filter((_, index) => index % 2 === 0);
    await enterAll(early, after, 0);
    await sleep(phaseMs);
  });
}

/**
 * All clients go from three servers to three others, those whose clocks are behind first, and nothing is struck. If
 * `without` is `floors`, only the clocks order the tokens then.
 */
export function changeCalmly(options: WorldOptions, cleanup: Cleanup): Promise<Findings> {
  return change({ ...options, areClocksOrdered: true }, cleanup, async ({ clients, operator }, { joint, after }) => {
    await sleep(phaseMs);
    await operator.step(twoSets, "begin", false);
    await enterAll(clients, joint, 0);
    await operator.step(twoSets, "join", false);
    const half = clients.length / 2;
    await enterAll(clients.slice(0, half), after, 0);
    await sleep(phaseMs);
    await enterAll(clients.slice(half), after, 0);
    await operator.step(twoSets, "end", false);
  });
}

const servers = names("n", 6);
const [twoSets] = changesOf([servers.slice(0, 3), servers.slice(3)]) as [Change];

async function change(
  options: WorldOptions,
  cleanup: Cleanup,
  act: (world: World, change: Change) => Promise<void>,
): Promise<Findings> {
  const world = await startWorld(options, [twoSets], () => {}, cleanup);
  const play = async (): Promise<Findings> => {
    await allServed(world.clients, twoSets.before, world.chronicle);
    await act(world, twoSets);
    await Promise.all(world.clients.map((client) => client.leave()));
    return judgeRun(world.chronicle, await world.lookAtAll(), []);
  };
  return Promise.race([play(), world.broken]);
}
