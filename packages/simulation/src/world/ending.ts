import { calmFromMs, endOf, setBackMs, slowest } from "../scenario/fault-times.ts";
import {
  type FullScenario,
  longestTtlMs,
  nodeNames,
  type Operation,
  operationsOf,
  quorumOf,
} from "../scenario/scenario.ts";
import type { Stage, StagedClient } from "./stage.ts";
import { microtasks } from "./world.ts";

/** Operations wait for seconds at most; who has not ended after so much virtual time hangs. */
const longestRunMs = 600_000;

/** So many attempts after the last claim has expired are enough for somebody to get the lock. */
const recoveryAttempts = 10;

/** An attempt asks for votes, and then up to three times for agreement on the token; and the release asks once. */
const mostRounds = 5;

/** So long core goes on watching after the last of its waiters and locks is gone, in case that another one comes. */
const watchLingerMs = 1000;

/** Plays a stage to its end: until all work is done and all faults are over, and shows that all is well again. */
export async function playOut(stage: Stage): Promise<void> {
  const { world, recorder, network, clients } = stage;
  await world.runUntil(longestRunMs, () => clients.every((client) => isIdle(client, world.nowMs)));
  for (const { process } of clients.filter((client) => !isIdle(client, world.nowMs))) {
    recorder.misbehaved(world.nowMs, process.name, "has an operation that does not end");
  }
  recordCompletion(stage);
  await untilQuiet(stage);
  await findForsakenClaims(stage);
  await world.runUntil(Math.max(...stage.scenario.faults.map(endOf), world.nowMs));
  network.calmDown();
  for (const { process } of clients) process.calmDown();
  await untilExpired(stage);
  await recover(stage);
  await untilQuiet(stage);
  await findForsakenClaims(stage);
  await untilExpired(stage);
  await world.runUntil(world.nowMs + watchLingerMs * slowest);
  await untilQuiet(stage);
  await findLeaks(stage);
}

/** Whether a client has nothing left to do: a pause in the middle of its last turn, too, is over. */
function isIdle({ process, working }: StagedClient, nowMs: number): boolean {
  return (working === 0 && process.nowMs <= nowMs) || process.isDead;
}

/** How all operations came to their end, if it is known from when on no fault was in their way. */
function recordCompletion({ world, recorder, scenario, clients }: Stage): void {
  const fromMs = calmFromMs(scenario, nodeNames(scenario.nodes));
  if (fromMs === Infinity) return;
  const isDone = clients.every((client) => isIdle(client, world.nowMs));
  const operations = operationsOf(scenario.clients);
  const workMs = operations.reduce((sum, operation) => sum + longestMs(operation, scenario), 0);
  recorder.completion = { fromMs, endedAtMs: isDone ? world.nowMs : undefined, workMs, calls: operations.length };
}

/** How long an operation may take that has no rivals, other than for those under it, in milliseconds. */
function longestMs(operation: Operation, { settings }: FullScenario): number {
  const { resources, updates = 1, thinkMs = 1, afterMs = 0 } = operation;
  const { retryDelayMs, retryDelayMaxMs, nodeTimeoutMs, latencyMs } = settings;
  const thoughtMs = typeof thinkMs === "number" ? updates * thinkMs : thinkMs.reduce((sum, ms) => sum + ms, 0);
  const updatesMs = resources.length * (thoughtMs + updates * 4 * latencyMs[1]);
  return afterMs + updatesMs + retryDelayMs + retryDelayMaxMs + mostRounds * nodeTimeoutMs;
}

/** Until no message is on the way, and none waits for a client that is paused. */
async function untilQuiet({ world, network, clients }: Stage): Promise<void> {
  const living = clients.map(({ process }) => process).filter(({ isDead }) => !isDead);
  const quietAtMs = (): number => Math.max(network.quietAtMs, ...living.map(({ heldUntilMs }) => heldUntilMs));
  do await world.runUntil(Math.max(world.nowMs, quietAtMs()));
  while (quietAtMs() > world.nowMs);
}

/** Until whatever was claimed has expired, also where a node's clock was set back. */
async function untilExpired(stage: Stage): Promise<void> {
  await untilQuiet(stage);
  const { world, scenario } = stage;
  const outlastMs = setBackMs(scenario, nodeNames(scenario.nodes));
  await world.runUntil(world.nowMs + (longestTtlMs(scenario) + outlastMs) * slowest);
}

/** So many resources are enough to show that locks can be had again. */
const mostRecovered = 8;

/** Every client that still lives asks for the same resources, all at once: somebody must get them soon. */
async function recover(stage: Stage): Promise<void> {
  const { world, recorder, scenario, hosts } = stage;
  const { retryDelayMaxMs, nodeTimeoutMs, trust } = scenario.settings;
  const living = stage.clients.filter(({ process }) => !process.isDead);
  if (living.length === 0 || hosts.filter(({ isDown }) => !isDown).length < quorumOf(scenario)) return;
  const resources = resourcesOf(scenario).slice(0, mostRecovered);
  if (resources.length === 0) return;
  const fromMs = world.nowMs;
  const boundMs = recoveryAttempts * (retryDelayMaxMs + 2 * nodeTimeoutMs);
  let lockedAtMs: number | undefined;
  let waiting = living.length;
  for (const { process, redlock, waiters } of living) {
    process.receive(fromMs, () => {
      const waiter = waiters.enter({ resources, timeoutMs: 4 * boundMs });
      const acquired = redlock.acquire(resources, { waitTimeoutMs: 4 * boundMs }).then(async (lock) => {
        lockedAtMs ??= process.nowMs;
        const record = recorder.granted(process, lock, trust);
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

/** No node keeps what was given up, unless a message to it was lost, or its client is dead: then it keeps it for a ttl. */
async function findForsakenClaims({ world, recorder, clients, hosts, scenario }: Stage): Promise<void> {
  if (clients.some(({ process }) => process.isDead)) return;
  for (const { name, node } of hosts.filter(({ isDown }) => !isDown)) {
    for (const resource of resourcesOf(scenario)) {
      const view = await answerOf(async () => node.inspect?.(resource));
      const owner = view instanceof Error ? undefined : (view?.owner ?? undefined);
      const attempt = owner === undefined ? undefined : recorder.inexcusable(owner, name);
      if (attempt === undefined) continue;
      recorder.leaked(world.nowMs, `node ${name} still keeps ${attempt} on ${resource}, though nothing to it was lost`);
    }
  }
}

/** No timer is set any more, no node is watched, and every node is free to grant everything to somebody new. */
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
      const reply = await answerOf(async () => node.acquire({ ...probe, ttlMs: 1, fenceHint: 1 }));
      if (reply instanceof Error) recorder.leaked(world.nowMs, `node ${name} cannot be locked: ${reply.message}`);
      else if (!reply?.granted) recorder.leaked(world.nowMs, `node ${name} still keeps a claim on ${resource}`);
      await answerOf(async () => node.release(probe));
    }
  }
}

/** What a node answers at once, as every node of a simulation must; or how it fails to. */
async function answerOf<T>(ask: () => Promise<T>): Promise<T | Error> {
  const silence = microtasks().then(() => new Error("it does not answer"));
  return Promise.race([ask(), silence]).catch((error: unknown) => new Error(String(error)));
}

/** All that the clients of a scenario lock. */
function resourcesOf({ clients }: Stage["scenario"]): string[] {
  return [...new Set(operationsOf(clients).flatMap(({ resources }) => resources))];
}
