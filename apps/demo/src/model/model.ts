import type { Sampled, Visit } from "../events.ts";
import type { Setup } from "../setup.ts";

/** The state of a run. Views and verdict are functions of it. */
export interface Model {
  readonly setup: Setup;
  /** When the run began; null before. */
  readonly beganAtMs: number | null;
  readonly nodes: readonly NodeState[];
  readonly resources: readonly ResourceState[];
  /** The resource that each worker waits for. */
  readonly waiting: ReadonlyMap<string, string>;
  readonly visits: readonly Visit[];
  /** The waiting times for all locks, in the order of the grants. */
  readonly waitsMs: readonly number[];
  /** The number of locks granted while two nodes were down. */
  readonly grantsWhileTwoDown: number;
  /** How often a worker went elsewhere because others held the resource. */
  readonly timedOut: number;
  /** How often a worker gave up because too few nodes replied. */
  readonly unreachable: number;
  /** The number of lost locks, without the sleeper's. */
  readonly lostLocks: number;
  readonly staleWritesRefused: number;
  readonly finished: ReadonlySet<string>;
  readonly failures: readonly string[];
  readonly pause: PauseState | null;
  /** The story of the run, in plain words. */
  readonly log: readonly LogLine[];
}

/** A node, and when it entered its state. */
export interface NodeState {
  readonly name: string;
  readonly state: "up" | "down" | "restarting";
  readonly sinceMs: number;
}

/** A resource, as last inspected. */
export interface ResourceState {
  readonly name: string;
  readonly fenced: boolean;
  readonly seen: Omit<Sampled, "kind" | "resource">;
  /** The increments made by workers, and those known at the last inspection. */
  readonly increments: number;
  readonly incrementsSeen: number;
  /** The increments that the counter does not show. */
  readonly lostUpdates: number;
}

/** The pause of the sleeper. */
export interface PauseState {
  readonly pausedAtMs: number;
  readonly resumedAtMs: number | null;
  /** The first worker that got the lock during the pause. */
  readonly successor: { readonly worker: string; readonly fence: number } | null;
  /** The result of the sleeper's late write; null before it. */
  readonly write: Visit["write"] | null;
}

/** A line of the log. */
export interface LogLine {
  /** The time since the run began. */
  readonly atMs: number;
  readonly tone: "plain" | "good" | "warning" | "bad";
  readonly text: string;
}

/** The state before the first event. */
export function initialModel(setup: Setup): Model {
  return {
    setup,
    beganAtMs: null,
    nodes: setup.nodes.map((name) => ({ name, state: "up", sinceMs: 0 })),
    resources: setup.resources.map(({ name, fenced }) => ({
      name,
      fenced,
      seen: { holder: null, remainingMs: null, fence: 0, value: 0 },
      increments: 0,
      incrementsSeen: 0,
      lostUpdates: 0,
    })),
    waiting: new Map(),
    visits: [],
    waitsMs: [],
    grantsWhileTwoDown: 0,
    timedOut: 0,
    unreachable: 0,
    lostLocks: 0,
    staleWritesRefused: 0,
    finished: new Set(),
    failures: [],
    pause: null,
    log: [],
  };
}

/** Returns how many increments the counters are known not to show. */
export function lostUpdates({ resources }: Model): number {
  return resources.reduce((sum, resource) => sum + resource.lostUpdates, 0);
}
