import { setTimeout as sleep } from "node:timers/promises";
import type { Dice } from "@holdfast/app-kit/dice";
import type { Chronicler } from "./chronicle.ts";
import type { Member } from "./crew.ts";
import type { MemberServer } from "./servers.ts";
import { createTurns } from "./turns.ts";

/** The processes to strike, and the tools for it. */
export interface Targets {
  readonly dice: Dice;
  readonly recorder: Chronicler;
  readonly members: readonly Member[];
  readonly ttlMs: number;
  readonly restartGuardMs: number;
  /** The servers that hold locks at the moment. */
  servers(): readonly MemberServer[];
  /** Heals a server that restarted empty. */
  heal(server: string): Promise<void>;
  /** Runs an action while the operator does nothing else; returns undefined, without running it, if the operator is busy. */
  unlessBusy<T>(action: () => Promise<T>): Promise<T> | undefined;
}

/** The faults of servers, in a random order, again and again. */
const serverFaults = ["paused", "killed", "emptied", "killed", "paused"] as const;
const clientFaults = ["killed", "paused", "paused for long"] as const;

/** The faults of a run. */
export interface Strikes {
  /** Runs an action while no server is struck. */
  betweenServers<T>(action: () => Promise<T>): Promise<T>;
  /** Lets the last faults end. */
  stop(): Promise<void>;
  /** Rejects if a fault cannot be carried out. */
  readonly failed: Promise<never>;
}

/**
 * Strikes one server after another, and clients meanwhile, until it is stopped. The next server is struck when the last one
 * votes again, so that a minority is missing, at most.
 */
export function startStrikes(targets: Targets): Strikes {
  const stopping = new AbortController();
  const inTurn = createTurns();
  const struck = strikeServers(targets, inTurn, stopping.signal);
  const running = Promise.all([struck, strikeClients(targets, stopping.signal)]);
  const failed = running.then(() => new Promise<never>(() => {}));
  failed.catch(() => {});
  return {
    failed,
    betweenServers: inTurn,
    async stop() {
      stopping.abort();
      await running;
    },
  };
}

async function strikeServers(targets: Targets, inTurn: Strikes["betweenServers"], stop: AbortSignal): Promise<void> {
  const { dice, unlessBusy } = targets;
  let deck: (typeof serverFaults)[number][] = [];
  const strike = async (): Promise<number> => {
    if (deck.length === 0) deck = dice.some(serverFaults, serverFaults.length);
    const fault = deck.shift() as (typeof serverFaults)[number];
    const server = dice.one(targets.servers());
    if (fault === "paused") return pauseServer(server, targets);
    if (fault === "killed") return killServer(server, targets);
    const emptied = unlessBusy(() => emptyServer(server, targets));
    if (emptied === undefined) deck.push(fault);
    return emptied ?? pauseServer(server, targets);
  };
  while (!stop.aborted) {
    const untilItVotesMs = await inTurn(strike);
    await sleep(untilItVotesMs + dice.integer(100, 400));
  }
}

/** Each of these resolves with the time until the server votes again, in milliseconds. */
async function pauseServer(server: MemberServer, { dice, recorder }: Targets): Promise<number> {
  await recorder.during(server.name, "paused", async () => {
    server.pause();
    await sleep(dice.integer(200, 1_500));
    server.resume();
  });
  return 0;
}

async function killServer(server: MemberServer, { dice, recorder, restartGuardMs }: Targets): Promise<number> {
  await recorder.during(server.name, "killed", async () => {
    await server.kill();
    await sleep(dice.integer(0, 500));
    await server.restart();
  });
  recorder.note(`${server.name} is killed, and restarts with its data`);
  return restartGuardMs;
}

async function emptyServer(server: MemberServer, targets: Targets): Promise<number> {
  const { dice, recorder, restartGuardMs, ttlMs } = targets;
  // A lock that was granted without the server that was struck last has been extended on it by then, or has ended.
  await sleep(ttlMs);
  await recorder.during(server.name, "emptied", async () => {
    await server.kill();
    await sleep(dice.integer(0, 500));
    await server.restartEmpty();
    recorder.note(`${server.name} is killed, and restarts without its data`);
    await targets.heal(server.name);
    recorder.note(`${server.name} is healed`);
  });
  return restartGuardMs - ttlMs; // the heal waits for a ttl
}

async function strikeClients({ dice, recorder, members, ttlMs }: Targets, stop: AbortSignal): Promise<void> {
  while (!stop.aborted) {
    await sleep(dice.integer(300, 1_200));
    const idle = members.filter(({ isIdle }) => isIdle);
    if (idle.length === 0) continue;
    const member = dice.one(idle);
    const fault = dice.one(clientFaults);
    const pauseMs = fault === "paused" ? dice.integer(100, 800) : 1.5 * ttlMs;
    await recorder.during(member.name, fault, () =>
      fault === "killed" ? member.kill(dice.integer(50, 500)) : member.pause(pauseMs),
    );
  }
}
