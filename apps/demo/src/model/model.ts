import type { Sampled, Visit } from "../events.ts";
import type { Setup } from "../setup.ts";

/** All that is known of a run so far. Views and verdict are drawn from this, and from nothing else. */
export interface Model {
  readonly setup: Setup;
  /** When the run began; null until then. */
  readonly beganAtMs: number | null;
  readonly nodes: readonly NodeState[];
  readonly resources: readonly ResourceState[];
  /** The resource that each worker waits for. */
  readonly waiting: ReadonlyMap<string, string>;
  readonly visits: readonly Visit[];
  /** How long each lock was waited for, in the order in which they were granted. */
  readonly waitsMs: readonly number[];
  /** How many locks were granted while two nodes were down. */
  readonly grantsWhileTwoDown: number;
  /** How many times a worker went elsewhere, because others held the resource for as long as it would wait. */
  readonly timedOut: number;
  /** How many times a worker gave up because too few nodes answered. */
  readonly unreachable: number;
  /** How many locks were lost, apart from the sleeper's. */
  readonly lostLocks: number;
  readonly staleWritesRefused: number;
  readonly finished: ReadonlySet<string>;
  readonly failures: readonly string[];
  readonly pause: PauseState | null;
  /** What was worth telling, in plain words. */
  readonly log: readonly LogLine[];
}

/** A node, and since when it is like that. */
export interface NodeState {
  readonly name: string;
  readonly state: "up" | "down" | "restarting";
  readonly sinceMs: number;
}

/** A resource, as it was last seen. */
export interface ResourceState {
  readonly name: string;
  readonly fenced: boolean;
  readonly seen: Omit<Sampled, "kind" | "resource">;
  /** How many increments workers have performed, and how many of them were known when it was last looked at. */
  readonly increments: number;
  readonly incrementsSeen: number;
  /** How many of them the counter does not show. */
  readonly lostUpdates: number;
}

/** The pause of the sleeper. */
export interface PauseState {
  readonly pausedAtMs: number;
  readonly resumedAtMs: number | null;
  /** The first worker that got the lock meanwhile. */
  readonly successor: { readonly worker: string; readonly fence: number } | null;
  /** What came of the sleeper's late write; null as long as it has not been tried. */
  readonly write: Visit["write"] | null;
}

/** One line of the log. */
export interface LogLine {
  /** Since the run began. */
  readonly atMs: number;
  readonly tone: "plain" | "good" | "warning" | "bad";
  readonly text: string;
}

/** What is known before anything has happened. */
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
