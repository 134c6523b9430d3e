import type { Inspection } from "@holdfast/core";
import { monotonicMs } from "@holdfast/testkit/monotonic";
import picocolors from "picocolors";
import { nodeNames, resources, type Setup, sleeper } from "./options.ts";

/** Colours for all texts. Those for an output without colours are removed at the end. */
export const colors = picocolors.createColors(true);
const { red, yellow } = colors;

/** A duration for readers: "12 ms", "1.4 s". */
export function duration(ms: number | null | undefined): string {
  if (typeof ms !== "number") return "–";
  if (ms < 1) return "<1 ms";
  return ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;
}

/**
 * What a worker did under one lock, or while it waited for one. Times are on the clock of `monotonicMs`, and Infinity for
 * what has not happened.
 */
export interface Visit {
  readonly worker: string;
  readonly resource: string;
  readonly calledAtMs: number;
  fence: number;
  enteredAtMs: number;
  /** The end of the validity, as last read by the worker, or the moment at which its signal aborted. */
  validUntilMs: number;
  /** When the database replied to the read. */
  readAtMs: number;
  /** When the write was sent. */
  wroteAtMs: number;
  leftAtMs: number;
  /** The result of the write. A refused read counts as a refused write, since none can follow. */
  write: "accepted" | "refused" | "none";
  /** The larger token for which the database refused. */
  newestFence?: number;
  /** Why the worker got no lock, or lost it. */
  failure?: { readonly code: string; readonly message: string };
}

/** The state of a node, and when it came up or was killed. */
export type NodeState = { state: "up" | "down" | "restarting"; sinceMs: number };

/** A resource, as last inspected. */
export interface Sample extends Partial<Pick<Inspection, "label" | "remainingMs" | "fence">> {
  /** The counter in the database. */
  readonly value: number;
  /** The increments known before the counter was read that it does not show. */
  readonly lost: number;
}

/** The state of a run, and its story in plain words. Views and verdict are functions of it. */
export class Run {
  readonly setup: Setup;
  beganAtMs: number | null = null;
  readonly nodes = new Map<string, NodeState>(nodeNames.map((name) => [name, { state: "up", sinceMs: 0 }]));
  /** When two nodes were down. */
  readonly twoDown = { fromMs: Infinity, untilMs: Infinity };
  readonly samples = new Map<string, Sample>(resources.map(({ name }) => [name, { value: 0, lost: 0 }]));
  /** Whether the sleeper is paused. */
  isPaused = false;
  readonly finished = new Set<string>();
  readonly problems: string[] = [];
  readonly log: { readonly atMs: number; readonly text: string }[] = [];
  readonly #calls = new Map<string, Visit>();

  constructor(setup: Setup) {
    this.setup = setup;
  }

  /** The visits under a lock, in the order of the calls. */
  get visits(): Visit[] {
    return [...this.#calls.values()].filter(({ enteredAtMs }) => enteredAtMs !== Infinity);
  }

  /** The visit in which the sleeper was paused. */
  get lateVisit(): Visit | undefined {
    return this.visits.findLast(({ worker }) => worker === sleeper);
  }

  get waitsMs(): number[] {
    return this.visits.map(({ calledAtMs, enteredAtMs }) => enteredAtMs - calledAtMs);
  }

  get lostUpdates(): number {
    return [...this.samples.values()].reduce((sum, { lost }) => sum + lost, 0);
  }

  get staleWritesRefused(): number {
    return this.visits.filter(({ write }) => write === "refused").length;
  }

  /** The workers that wait for a resource. */
  waiting(name: string): string[] {
    const calls = [...this.#calls.values()].filter(({ resource }) => resource === name);
    return calls.flatMap(({ worker, enteredAtMs, leftAtMs }) =>
      enteredAtMs === Infinity && leftAtMs === Infinity ? [worker] : [],
    );
  }

  /** The number of nodes that are up. */
  get nodesUp(): number {
    return [...this.nodes.values()].filter(({ state }) => state === "up").length;
  }

  /** The number of increments that workers have made. */
  increments(name: string): number {
    return this.visits.filter(({ resource, write }) => resource === name && write === "accepted").length;
  }

  /** How often workers failed with this code. The sleeper's lost lock does not count. */
  failures(code: string): number {
    return [...this.#calls.values()].filter((visit) => visit.failure?.code === code && !isPlanned(visit)).length;
  }

  /** Adds a line to the story. */
  say(text: string): void {
    const nowMs = monotonicMs();
    this.log.push({ atMs: nowMs - (this.beganAtMs ?? nowMs), text });
  }

  /** Takes in the reports of a worker: that it waits, that it has entered, and how the visit ended. */
  hear(visit: Visit): void {
    const { worker, resource, calledAtMs, fence, write, newestFence, failure } = visit;
    this.#calls.set(`${worker} ${calledAtMs}`, visit);
    if (visit.leftAtMs === Infinity || isPlanned(visit)) return;
    if (write === "refused" && worker !== sleeper)
      this.say(yellow(`A late write of ${worker} to ${resource} was refused: ${fence} is below ${newestFence}.`));
    if (failure?.code === "LOCK_LOST")
      this.say(yellow(`${worker} lost its lock, and wrote nothing: ${failure.message}`));
    if (failure?.code === "QUORUM_UNREACHABLE") this.say(yellow(`${worker} gave up: ${failure.message}`));
  }

  /** A worker has failed, or the run could not go on. Both are part of the verdict. */
  fail(error: Error, worker?: string): void {
    this.problems.push(worker === undefined ? error.message : `${worker}: ${error.message}`);
    this.say(red(`${worker === undefined ? "The run was cut short" : `${worker} failed`}: ${error.message}`));
  }
}

/** Whether it is the sleeper that has lost its lock. */
function isPlanned({ worker, failure }: Visit): boolean {
  return worker === sleeper && failure?.code === "LOCK_LOST";
}
