import { waitingLimits } from "../check/waiting-limits.ts";
import { calmFromMs, endOf, setBackMs, slowest } from "../scenario/fault-times.ts";
import {
  type FullScenario,
  lastEpoch,
  longestTtlMs,
  nodeNames,
  type Operation,
  operationsOf,
  quorumOf,
  resourcesOf,
  setsAt,
} from "../scenario/scenario.ts";
import { splitMs } from "../scenario/split-votes.ts";
import { holdersIn } from "./node-host.ts";
import type { Stage } from "./stage.ts";
import type { StagedClient } from "./staged-client.ts";
import { microtasks } from "./world.ts";

/** Operations wait for seconds at most. If their work takes less, one that has not ended by then hangs. */
const usualRunMs = 600_000;

/** The number of attempts within which some client must get the lock once the last claim has expired. */
const recoveryAttempts = 10;

/** An attempt takes one round to ask for votes and up to three to agree on the token; a release takes one. */
const mostRounds = 5;

/** How long core keeps its watches after the last waiter and lock are gone, in case another one follows. */
const watchLingerMs = 1000;

/** Runs a stage until all work is done and all faults are over, then tests that locks work and nothing has leaked. */
export async function playOut(stage: Stage): Promise<void> {
  const { world, recorder, network, clients, operator } = stage;
  const isDone = (): boolean => operator.isDone && clients.every((client) => isIdle(client, world.nowMs));
  await world.runUntil(runLimitMs(stage), isDone);
  if (!operator.isDone) recorder.misbehaved(world.nowMs, operator.process.name, `does not end: ${operator.state}`);
  for (const { process } of clients.filter((client) => !isIdle(client, world.nowMs))) {
    recorder.misbehaved(world.nowMs, process.name, "has an operation that does not end");
  }
  recorder.tracer?.end(world.nowMs);
  recordCompletion(stage);
  await untilQuiet(stage);
  await findAbandonedClaims(stage);
  await world.runUntil(Math.max(...stage.scenario.faults.map(endOf), world.nowMs));
  network.calmDown();
  for (const { process } of clients) process.calmDown();
  operator.process.calmDown();
  await operator.finish();
  await untilExpired(stage);
  await recover(stage);
  await untilQuiet(stage);
  await findAbandonedClaims(stage);
  await untilExpired(stage);
  await world.runUntil(world.nowMs + watchLingerMs * slowest);
  await untilQuiet(stage);
  await findLeaks(stage);
}

/** Whether a client has nothing left to do. A client that is paused in its last turn still has. */
function isIdle({ process, working }: StagedClient, nowMs: number): boolean {
  return (working === 0 && process.nowMs <= nowMs) || process.isDead;
}

/**
 * How long a run may take, in milliseconds: as long as its operations may take after the last fault. A slow world is
 * still at work after the usual time.
 */
function runLimitMs({ scenario }: Stage): number {
  const calmMs = calmFromMs(scenario, nodeNames(scenario.nodes));
  const operations = operationsOf(scenario.clients);
  const workMs = workMsOf(operations, scenario) + operations.length * waitingLimits.keepMs;
  return Math.max(usualRunMs, (calmMs < Infinity ? calmMs : 0) + workMs);
}

/** Records how all operations ended, if the end of the last fault is known. */
function recordCompletion({ world, recorder, scenario, clients, operator }: Stage): void {
  const fromMs = Math.max(calmFromMs(scenario, nodeNames(scenario.nodes)), operator.calmFromMs);
  if (fromMs === Infinity) return;
  const isDone = clients.every((client) => isIdle(client, world.nowMs));
  const operations = operationsOf(scenario.clients);
  const workMs = workMsOf(operations, scenario);
  recorder.completion = { fromMs, endedAtMs: isDone ? world.nowMs : undefined, workMs, calls: operations.length };
}

function workMsOf(operations: readonly Operation[], scenario: FullScenario): number {
  return operations.reduce((sum, operation) => sum + longestMs(operation, scenario), 0);
}

/** How long an operation without rivals may take, in milliseconds, not counting nested operations. */
function longestMs(operation: Operation, { settings }: FullScenario): number {
  const { resources, updates = 1, thinkMs = 1, afterMs = 0 } = operation;
  const { retryDelayMs, retryDelayMaxMs, nodeTimeoutMs, latencyMs } = settings;
  const thoughtMs = typeof thinkMs === "number" ? updates * thinkMs : thinkMs.reduce((sum, ms) => sum + ms, 0);
  const updatesMs = resources.length * (thoughtMs + updates * 4 * latencyMs[1]);
  return afterMs + updatesMs + retryDelayMs + retryDelayMaxMs + mostRounds * nodeTimeoutMs;
}

/** Runs until no message is in flight, and none waits for a paused client. */
async function untilQuiet({ world, network, clients, operator }: Stage): Promise<void> {
  const living = [operator, ...clients].map(({ process }) => process).filter(({ isDead }) => !isDead);
  const quietAtMs = (): number => Math.max(network.quietAtMs, ...living.map(({ heldUntilMs }) => heldUntilMs));
  do await world.runUntil(Math.max(world.nowMs, quietAtMs()));
  while (quietAtMs() > world.nowMs);
}

/** Runs until every claim has expired, including on nodes whose clock was set back. */
async function untilExpired(stage: Stage): Promise<void> {
  await untilQuiet(stage);
  const { world, scenario } = stage;
  const outlastMs = setBackMs(scenario, nodeNames(scenario.nodes));
  await world.runUntil(world.nowMs + (longestTtlMs(scenario) + outlastMs) * slowest);
}

/** Locking this many resources is enough to show that locks work again. */
const mostRecovered = 8;

/** Lets every live client ask for the same resources at once: one of them must get them soon. */
async function recover(stage: Stage): Promise<void> {
  const { world, recorder, scenario, hosts } = stage;
  const { retryDelayMaxMs, nodeTimeoutMs, trust } = scenario.settings;
  const living = stage.clients.filter(({ process }) => !process.isDead);
  const isUp = (name: string): boolean => hosts.some((host) => host.name === name && !host.isDown);
  const hasQuorum = (set: readonly string[]): boolean =>
    set.filter(isUp).length >= quorumOf(set.length, scenario.settings);
  if (living.length === 0 || !setsAt(lastEpoch(scenario), scenario).every(hasQuorum)) return;
  const resources = resourcesOf(scenario).slice(0, mostRecovered);
  if (resources.length === 0) return;
  const fromMs = world.nowMs;
  const boundMs = recoveryAttempts * (retryDelayMaxMs + 2 * nodeTimeoutMs) + splitMs(scenario, lastEpoch(scenario));
  let lockedAtMs: number | undefined;
  let waiting = living.length;
  for (const { process, session } of living) {
    const { redlock, waiters } = session;
    process.receive(fromMs, () => {
      const waiter = waiters.enter({ resources, timeoutMs: 4 * boundMs });
      const acquired = redlock.acquire(resources, { waitTimeoutMs: 4 * boundMs }).then(async (lock) => {
        lockedAtMs ??= process.nowMs;
        const record = recorder.granted(process, lock, { mode: "exclusive", trust });
        waiters.succeed(waiter, record.attempt, lock.owner);
        record.end();
        await lock.release();
      });
      const failed = (error: unknown): void =>
        recorder.misbehaved(process.nowMs, process.name, `cannot recover: ${error}`);
      void acquired.catch(failed).then(() => {
        waiters.leave(waiter);
        waiting -= 1;
      });
    });
  }
  await world.runUntil(fromMs + 10 * boundMs, () => waiting === 0);
  recorder.recovery = { fromMs, boundMs, lockedAtMs };
}

/**
 * Finds abandoned claims on nodes. A claim may stay until its ttl ends only if a message was lost or its client died.
 */
async function findAbandonedClaims({ world, recorder, clients, hosts, scenario }: Stage): Promise<void> {
  if (clients.some(({ process }) => process.isDead)) return;
  for (const { name, node } of hosts.filter(({ isDown }) => !isDown)) {
    for (const resource of resourcesOf(scenario)) {
      const view = await answerOf(async () => node.inspect?.(resource));
      for (const owner of view instanceof Error ? [] : holdersIn(view)) {
        const attempt = recorder.unexcused(owner, name);
        if (attempt === undefined) continue;
        const what = `node ${name} still keeps ${attempt} on ${resource}, although no message to it was lost`;
        recorder.leaked(world.nowMs, what);
      }
    }
  }
}

/** Finds what is left at the end: timers, watches, and claims that keep a node from granting to a new owner. */
async function findLeaks({ world, recorder, clients, hosts, scenario }: Stage): Promise<void> {
  for (const { process } of clients) {
    if (!process.isDead && process.timers > 0) {
      recorder.leaked(world.nowMs, `${process.timers} timers of ${process.name} are still set`);
    }
  }
  for (const { name, node, watches } of hosts.filter(({ isDown }) => !isDown)) {
    for (const { client, resources } of [...watches].filter(({ isExcused }) => !isExcused)) {
      recorder.leaked(world.nowMs, `${client} still watches ${resources.join(" and ")} on node ${name}`);
    }
    for (const resource of resourcesOf(scenario)) {
      const probe = { resources: [resource], owner: "probe", timeoutMs: 1 };
      const kept = await answerOf(async () => node.raiseFloor?.({ floor: 0, epoch: 0, timeoutMs: 1 }));
      const epoch = kept instanceof Error ? 1 : Math.max(1, kept?.epoch ?? 1);
      const reply = await answerOf(async () => node.acquire({ ...probe, ttlMs: 1, fenceHint: 1, epoch }));
      if (reply instanceof Error) recorder.leaked(world.nowMs, `node ${name} cannot be locked: ${reply.message}`);
      else if (!reply?.granted) recorder.leaked(world.nowMs, `node ${name} still keeps a claim on ${resource}`);
      await answerOf(async () => node.release(probe));
    }
  }
}

/** The node's immediate reply, as every simulated node must give; an error if it rejects or does not reply. */
async function answerOf<T>(ask: () => Promise<T>): Promise<T | Error> {
  const silence = microtasks().then(() => new Error("it does not reply"));
  return Promise.race([ask(), silence]).catch((error: unknown) => new Error(String(error)));
}
