import { setTimeout as sleep } from "node:timers/promises";
import type { ChaosNode } from "../world/node.ts";
import { type Stage, serversOf } from "../world/stages.ts";
import type { Turns } from "../world/turns.ts";
import type { World } from "./world.ts";

/** What to strike: a world, and the stage that it is at. */
export interface Targets extends World {
  readonly ttlMs: number;
  stage(): Stage;
}

/** The faults of servers, in a random order, again and again. */
const serverFaults = ["paused", "killed", "emptied", "killed", "paused"] as const;
const clientFaults = ["killed", "paused", "paused for long"] as const;

/**
 * Strikes one server after another, and clients meanwhile, until it is stopped, and resolves when the last faults have ended.
 * The next server is struck when the last one votes again, so that a minority is missing, at most.
 *
 * @param inTurn runs each strike of a server
 */
export function strike(targets: Targets, inTurn: Turns, stop: AbortSignal): Promise<unknown> {
  return Promise.all([strikeServers(targets, inTurn, stop), strikeClients(targets, stop)]);
}

async function strikeServers(targets: Targets, inTurn: Turns, stop: AbortSignal): Promise<void> {
  const { dice, nodes, operator } = targets;
  let deck: (typeof serverFaults)[number][] = [];
  const strike = async (): Promise<number> => {
    if (deck.length === 0) deck = dice.some(serverFaults, serverFaults.length);
    const fault = deck.shift() as (typeof serverFaults)[number];
    const node = dice.one(nodes.filter(({ name }) => serversOf(targets.stage()).includes(name)));
    if (fault === "paused") return pauseServer(node, targets);
    if (fault === "killed") return killServer(node, targets);
    const emptied = operator.unlessBusy(() => emptyServer(node, targets));
    if (emptied === undefined) deck.push(fault);
    return emptied ?? pauseServer(node, targets);
  };
  while (!stop.aborted) {
    const untilItVotesMs = await inTurn(strike);
    await sleep(untilItVotesMs + dice.integer(100, 400));
  }
}

/** Each of these resolves with the time until the server votes again, in milliseconds. */
async function pauseServer({ name, server }: ChaosNode, { dice, chronicle }: Targets): Promise<number> {
  await chronicle.during(name, "paused", async () => {
    server.pause();
    await sleep(dice.integer(200, 1_500));
    server.resume();
  });
  return 0;
}

async function killServer({ name, server }: ChaosNode, { dice, chronicle, stage }: Targets): Promise<number> {
  await chronicle.during(name, "killed", async () => {
    await server.kill();
    await sleep(dice.integer(0, 500));
    await server.restart();
  });
  chronicle.note(`${name} is killed, and restarts with its data`);
  return stage().restartGuardMs;
}

async function emptyServer({ name, server, args }: ChaosNode, targets: Targets): Promise<number> {
  const { dice, chronicle, operator, stage, ttlMs } = targets;
  // A lock that was granted without the server that was struck last has been extended on it by then, or has ended.
  await sleep(ttlMs);
  await chronicle.during(name, "emptied", async () => {
    await server.kill();
    await sleep(dice.integer(0, 500));
    await server.restart([...args, "--appenddirname", `empty-since-${Date.now()}`]);
    chronicle.note(`${name} is killed, and restarts without its data`);
    await operator.heal(stage(), name);
    chronicle.note(`${name} is healed`);
  });
  return stage().restartGuardMs - ttlMs; // the heal waits for a ttl
}

async function strikeClients({ dice, chronicle, clients, ttlMs }: Targets, stop: AbortSignal): Promise<void> {
  while (!stop.aborted) {
    await sleep(dice.integer(300, 1_200));
    const idle = clients.filter(({ isIdle }) => isIdle());
    if (idle.length === 0) continue;
    const client = dice.one(idle);
    const fault = dice.one(clientFaults);
    const pauseMs = fault === "paused" ? dice.integer(100, 800) : 1.5 * ttlMs;
    await chronicle.during(client.name, fault, () =>
      fault === "killed" ? client.kill(dice.integer(50, 500)) : client.pauseFor(pauseMs),
    );
  }
}
