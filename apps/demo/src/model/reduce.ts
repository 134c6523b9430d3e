import type { DemoEvent, Entered, Sampled, Visit } from "../events.ts";
import type { Model, NodeState, PauseState, ResourceState } from "./model.ts";
import { narrate } from "./narrate.ts";

/** Returns the model after an event, and leaves the given one unchanged. */
export function reduce(model: Model, event: DemoEvent): Model {
  const next = { ...model, ...changes(model, event) };
  const lines = narrate(model, next, event);
  return lines.length === 0 ? next : { ...next, log: [...model.log, ...lines] };
}

function changes(model: Model, event: DemoEvent): Partial<Model> {
  switch (event.kind) {
    case "began":
      return { beganAtMs: event.atMs };
    case "node-killed":
      return withNode(model, { name: event.node, state: "down", sinceMs: event.atMs });
    case "node-restarting":
      return withNode(model, { name: event.node, state: "restarting", sinceMs: event.atMs });
    case "node-back":
      return withNode(model, { name: event.node, state: "up", sinceMs: event.atMs });
    case "waiting":
      return { waiting: new Map(model.waiting).set(event.worker, event.resource) };
    case "entered":
      return entered(model, event, event.atMs);
    case "left":
      return left(model, event.visit);
    case "stopped-waiting":
      return { waiting: without(model.waiting, event.worker) };
    case "timed-out":
      return { waiting: without(model.waiting, event.worker), timedOut: model.timedOut + 1 };
    case "unreachable":
      return { waiting: without(model.waiting, event.worker), unreachable: model.unreachable + 1 };
    case "lock-lost":
      return event.worker === model.setup.sleeper ? {} : { lostLocks: model.lostLocks + 1 };
    case "worker-finished":
      return { finished: new Set(model.finished).add(event.worker) };
    case "worker-failed":
      return { failures: [...model.failures, `${event.worker}: ${event.message}`] };
    case "cut-short":
      return { failures: [...model.failures, event.message] };
    case "paused":
      return { pause: { pausedAtMs: event.atMs, resumedAtMs: null, successor: null, write: null } };
    case "resumed":
      return { pause: model.pause && { ...model.pause, resumedAtMs: event.atMs } };
    case "sampled":
      return withResource(model, event.resource, (resource) => sampled(resource, event));
  }
}

function entered(model: Model, { worker, resource, fence, waitedMs }: Entered, atMs: number): Partial<Model> {
  const down = model.nodes.filter(({ state }) => state !== "up");
  const duringOutage = down.length >= 2 && down.every(({ sinceMs }) => sinceMs < atMs);
  const { pause, setup } = model;
  const succeeds = pause?.successor === null && resource === setup.sleeperResource && atMs > pause.pausedAtMs;
  return {
    waiting: without(model.waiting, worker),
    waitsMs: [...model.waitsMs, waitedMs],
    grantsWhileTwoDown: model.grantsWhileTwoDown + (duringOutage ? 1 : 0),
    pause: succeeds ? { ...pause, successor: { worker, fence } } : pause,
  };
}

function left(model: Model, visit: Visit): Partial<Model> {
  const { pause, setup } = model;
  const ended: PauseState | null = pause && visit.worker === setup.sleeper ? { ...pause, write: visit.write } : pause;
  const performed = visit.write === "accepted" ? 1 : 0;
  return {
    ...withResource(model, visit.resource, (resource) => ({
      ...resource,
      increments: resource.increments + performed,
    })),
    visits: [...model.visits, visit],
    staleWritesRefused: model.staleWritesRefused + (visit.write === "refused" ? 1 : 0),
    pause: ended,
  };
}

/**
 * Compares the counter with the increments that were known before it was read. Later reports may be of increments that came
 * after the read.
 */
function sampled(resource: ResourceState, { holder, remainingMs, fence, value }: Sampled): ResourceState {
  return {
    ...resource,
    seen: { holder, remainingMs, fence, value },
    incrementsSeen: resource.increments,
    lostUpdates: Math.max(0, resource.incrementsSeen - value),
  };
}

function withNode(model: Model, changed: NodeState): Partial<Model> {
  return { nodes: model.nodes.map((node) => (node.name === changed.name ? changed : node)) };
}

function withResource(model: Model, name: string, change: (resource: ResourceState) => ResourceState): Partial<Model> {
  return { resources: model.resources.map((resource) => (resource.name === name ? change(resource) : resource)) };
}

function without(waiting: Model["waiting"], worker: string): Model["waiting"] {
  const rest = new Map(waiting);
  rest.delete(worker);
  return rest;
}
