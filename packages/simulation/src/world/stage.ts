import { type Observer, Redlock } from "@holdfast/core";
import type { Recorder } from "../history/recorder.ts";
import type { WaitingTerms } from "../history/waiters.ts";
import { Dice } from "../scenario/dice.ts";
import type { Fault } from "../scenario/fault.ts";
import { calmFromMs } from "../scenario/fault-times.ts";
import {
  type FullScenario,
  type FullSettings,
  isNotified,
  nodeNames,
  type ScenarioClient,
} from "../scenario/scenario.ts";
import { ClientProcess } from "./client-process.ts";
import { Connection } from "./connection.ts";
import { inject, type Targets } from "./inject.ts";
import { Network } from "./network.ts";
import { type CreateNode, NodeHost } from "./node-host.ts";
import { Storage } from "./storage.ts";
import { type Workplace, work } from "./worker.ts";
import { phase, type World } from "./world.ts";

/** A world that is set up and ready to run. */
export interface Stage {
  readonly scenario: FullScenario;
  readonly world: World;
  readonly recorder: Recorder;
  readonly network: Network;
  readonly hosts: readonly NodeHost[];
  readonly clients: readonly StagedClient[];
}

/** A client process, and how many of its workers are still at work. */
export interface StagedClient extends Workplace {
  working: number;
}

/** Sets up the nodes, clients and faults of a scenario. Nothing has run yet. */
export function setStage(scenario: FullScenario, world: World, recorder: Recorder, createNode: CreateNode): Stage {
  const dice = new Dice(scenario.seed);
  const { settings } = scenario;
  const network = new Network(world, recorder, settings);
  const storage = new Storage(world, recorder, settings.latencyMs, scenario.faults);
  const hosts = nodeNames(scenario.nodes).map(
    (name) => new NodeHost(world, name, createNode, dice.fork(name), !settings.unwatchable.includes(name)),
  );
  const clients = scenario.clients.map((each): StagedClient => {
    const { name, workers, listens } = each;
    const process = new ClientProcess(world, name, dice.fork(name));
    const connections = hosts.map(
      (host) =>
        new Connection(process, host, network, scenario.faults.filter(isOnConnection(name, host.name)), listens),
    );
    const waiters = recorder.follow(process, waitingTermsOf(scenario, each));
    const redlock = redlockOf(process, connections, settings, {
      extended: ({ owner }) => recorder.extended(owner),
      attemptSettled: ({ owner, outcome }) =>
        recorder.settled(owner, outcome === "acquired" || outcome === "collected", process),
      released: ({ owner }) => recorder.ended(owner, process),
      lost: ({ owner }) => recorder.ended(owner, process),
    });
    const client = { process, redlock, waiters, storage, recorder, settings, working: workers.length };
    for (const operations of workers) {
      world.at(0, phase.input, () => void work(client, operations).then(() => client.working--), process);
    }
    return client;
  });
  const targets = { world, network, clients: byName(clients.map(({ process }) => process)), hosts: byName(hosts) };
  for (const fault of scenario.faults) inject(fault, targets);
  calmDownInTime(scenario, targets, recorder);
  return { scenario, world, recorder, network, hosts, clients };
}

function redlockOf(
  process: ClientProcess,
  nodes: readonly Connection[],
  { ttlMs, nodeTimeoutMs, retryDelayMs, retryDelayMaxMs, quorum }: FullSettings,
  observer: Observer,
): Redlock {
  return new Redlock(nodes, {
    ...{ ttlMs, nodeTimeoutMs, retryDelayMs, retryDelayMaxMs, quorum, clock: process },
    observer,
  });
}

/** An attempt takes one round to ask for votes, and up to three to agree on the token. */
const mostRounds = 4;

function waitingTermsOf(scenario: FullScenario, client: ScenarioClient): WaitingTerms {
  const { nodeTimeoutMs, retryDelayMs, retryDelayMaxMs } = scenario.settings;
  return {
    attemptMs: mostRounds * (nodeTimeoutMs + 1),
    // A waiter that waits for a claim to expire adds a random moment, so that waiters do not all retry together.
    backOffMs: retryDelayMaxMs + retryDelayMs,
    isNotified: isNotified(scenario, client),
  };
}

/** Schedules the end of single-message faults, and records when all faults are over. */
function calmDownInTime(scenario: FullScenario, { world, network, clients }: Targets, recorder: Recorder): void {
  const { calmAfterMs } = scenario.settings;
  const calmDown = (): void => {
    network.calmDown();
    for (const process of clients.values()) process.calmDown();
  };
  if (calmAfterMs < Infinity) world.at(calmAfterMs, phase.fault, calmDown);
  const calmMs = calmFromMs(scenario, nodeNames(scenario.nodes));
  if (calmMs < Infinity) world.at(calmMs, phase.fault, () => recorder.calmDown());
}

function isOnConnection(client: string, node: string) {
  return (fault: Fault): boolean =>
    "client" in fault && "node" in fault && fault.client === client && fault.node === node;
}

function byName<T extends { readonly name: string }>(items: readonly T[]): ReadonlyMap<string, T> {
  return new Map(items.map((item) => [item.name, item]));
}
