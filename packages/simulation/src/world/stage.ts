import type { JointSet, Observer, RedlockOptions } from "@holdfast/core";
import type { WaitingTerms } from "../history/history.ts";
import { epochOf, type Recorder } from "../history/recorder.ts";
import type { TracedWorld } from "../history/tracer.ts";
import { Dice } from "../scenario/dice.ts";
import type { Fault } from "../scenario/fault.ts";
import { calmFromMs } from "../scenario/fault-times.ts";
import {
  type FullScenario,
  generationAt,
  isNotified,
  lastEpoch,
  nodeNames,
  operatorName,
  quorumOf,
  resourcesOf,
  type ScenarioClient,
  setsAt,
} from "../scenario/scenario.ts";
import { splitMs } from "../scenario/split-votes.ts";
import { ClientProcess } from "./client-process.ts";
import { Connection } from "./connection.ts";
import { inject, type Targets } from "./inject.ts";
import { Network } from "./network.ts";
import { type CreateNode, NodeHost } from "./node-host.ts";
import { Operator } from "./operator.ts";
import { type Session, StagedClient } from "./staged-client.ts";
import { Storage } from "./storage.ts";
import type { Tools } from "./tools.ts";
import { work } from "./worker.ts";
import { phase, type World } from "./world.ts";

/** A world that is set up and ready to run. */
export interface Stage {
  readonly scenario: FullScenario;
  readonly world: World;
  readonly recorder: Recorder;
  readonly network: Network;
  readonly hosts: readonly NodeHost[];
  readonly clients: readonly StagedClient[];
  readonly operator: Operator;
}

/** Sets up the nodes, clients and faults of a scenario. Nothing has run yet. */
export function setStage(
  scenario: FullScenario,
  world: World,
  recorder: Recorder,
  createNode: CreateNode,
  tools: Tools,
): Stage {
  const dice = new Dice(scenario.seed);
  const { settings } = scenario;
  const network = new Network(world, recorder, settings);
  const storage = new Storage(network, scenario.faults);
  const hosts = nodeNames(scenario.nodes).map(
    (name) => new NodeHost(world, name, createNode, dice.fork(name), settings),
  );
  const clients = scenario.clients.map((each): StagedClient => {
    const { name, workers, listens } = each;
    const process = new ClientProcess(world, name, dice.fork(name));
    const connections = hosts.map(
      (host) =>
        new Connection(process, host, network, scenario.faults.filter(isOnConnection(name, host.name)), listens),
    );
    const client = new StagedClient({
      ...{ process, storage, recorder, settings, workers: workers.length },
      closes: scenario.membership?.closes ?? "without calls",
      open: (epoch) => openSession(scenario, each, { process, connections, recorder, tools }, epoch),
    });
    for (const operations of workers) {
      world.at(0, phase.input, () => void work(client, operations).then(() => client.working--), process);
    }
    return client;
  });
  const processes = new Map(clients.map(({ process }) => [process.name, process]));
  const onProcess = (process: ClientProcess): void => void processes.set(process.name, process);
  const own = { dice: dice.fork(operatorName), tools, onProcess };
  const operator = new Operator({ world, network, recorder, scenario, hosts, clients, ...own });
  const targets = { world, network, clients: processes, hosts: byName(hosts), operator };
  for (const fault of scenario.faults) inject(fault, targets);
  calmDownInTime(scenario, targets, operator, recorder);
  return { scenario, world, recorder, network, hosts, clients, operator };
}

/** Returns what a tracer needs to know of a stage. */
export function traced({ scenario, recorder, hosts, clients, operator }: Stage): TracedWorld {
  const names = new Map(clients.map(({ process }) => [process.name, process]));
  return {
    hosts: byName(hosts),
    processOf: (name) => (name === operatorName ? operator.process : names.get(name)),
    clients: [...names.keys()],
    quorums: Array.from({ length: lastEpoch(scenario) }, (_, index) => quorumsAt(index + 1, scenario)),
    resources: resourcesOf(scenario),
    leastLatencyMs: scenario.settings.latencyMs[0],
    attemptOf: (owner) => recorder.nameOf(owner),
    epochOf,
  };
}

function quorumsAt(epoch: number, scenario: FullScenario): TracedWorld["quorums"][number] {
  return setsAt(epoch, scenario).map((nodes) => ({ nodes, needed: quorumOf(nodes.length, scenario.settings) }));
}

/** What the `Redlock`s of a client have in common. */
interface SessionParts {
  readonly process: ClientProcess;
  readonly connections: readonly Connection[];
  readonly recorder: Recorder;
  readonly tools: Tools;
}

/** Opens the `Redlock` of a client in an epoch. */
function openSession(
  scenario: FullScenario,
  client: ScenarioClient,
  { process, connections, recorder, tools }: SessionParts,
  epoch: number,
): Pick<Session, "redlock" | "waiters"> {
  const { ttlMs, nodeTimeoutMs, retryDelayMs, retryDelayMaxMs, quorum } = scenario.settings;
  const sets = setsAt(epoch, scenario).map((set) => connections.filter(({ name }) => set.includes(name)));
  const observer: Observer = {
    extended: ({ owner, remainingMs }) => recorder.extended(owner, remainingMs),
    attemptSettled: (event) => recorder.settled(event, process),
    released: ({ owner }) => recorder.ended(owner, process),
    lost: ({ owner }) => recorder.lost(owner, process),
  };
  const options: RedlockOptions = { ttlMs, nodeTimeoutMs, retryDelayMs, retryDelayMaxMs, clock: process, observer };
  const [old = [], next] = sets;
  const nodes: readonly Connection[] | JointSet = next === undefined ? old : { old, new: next };
  return {
    redlock: tools.createRedlock(nodes, { ...options, quorum, generation: generationAt(epoch) }),
    waiters: recorder.follow(process, waitingTermsOf(scenario, client, epoch), epoch),
  };
}

/** An attempt takes one round to ask for votes, and up to three to agree on the token. */
const mostRounds = 4;

function waitingTermsOf(scenario: FullScenario, client: ScenarioClient, epoch: number): WaitingTerms {
  const { nodeTimeoutMs, retryDelayMs, retryDelayMaxMs, keepsOrder, latencyMs } = scenario.settings;
  return {
    attemptMs: mostRounds * (nodeTimeoutMs + 1),
    // A waiter that waits for a claim to expire adds a random moment, so that waiters do not all retry together.
    backOffMs: retryDelayMaxMs + retryDelayMs,
    pollMs: retryDelayMs,
    splitMs: splitMs(scenario, epoch),
    undoMs: keepsOrder ? 0 : latencyMs[1],
    isNotified: isNotified(scenario, epoch, client),
  };
}

/** Schedules the end of single-message faults, and records when all faults are over. */
function calmDownInTime(
  scenario: FullScenario,
  { world, network, clients }: Targets,
  operator: Operator,
  recorder: Recorder,
): void {
  const { calmAfterMs } = scenario.settings;
  const calmDown = (): void => {
    network.calmDown();
    for (const process of clients.values()) process.calmDown();
  };
  if (calmAfterMs < Infinity) world.at(calmAfterMs, phase.fault, calmDown);
  const calmMs = calmFromMs(scenario, nodeNames(scenario.nodes));
  const calmWithOperator = (): void => {
    if (operator.calmFromMs === Infinity) operator.whenDone(calmWithOperator);
    else world.at(operator.calmFromMs, phase.fault, () => recorder.calmDown());
  };
  if (calmMs < Infinity) world.at(calmMs, phase.fault, calmWithOperator);
}

function isOnConnection(client: string, node: string) {
  return (fault: Fault): boolean =>
    "client" in fault && "node" in fault && fault.client === client && fault.node === node;
}

function byName<T extends { readonly name: string }>(items: readonly T[]): ReadonlyMap<string, T> {
  return new Map(items.map((item) => [item.name, item]));
}
