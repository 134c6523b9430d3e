import type { Inspection } from "@holdfast/core";
import { monotonicMs } from "@holdfast/testkit/monotonic";
import picocolors from "picocolors";
import { ledger, nodeNames, resources, type Setup, sleeper } from "./options.ts";

/** Colours for all texts. Those for an output without colours are removed at the end. */
export const colors = picocolors.createColors(true);
const { green, red, yellow } = colors;

/** A duration for readers: "12 ms", "1.4 s". */
export function duration(ms: number | null | undefined): string {
  if (typeof ms !== "number") return "–";
  if (ms < 1) return "<1 ms";
  return ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;
}

/** What a worker did under one lock: when it was inside, and how its write ended. */
export interface Visit {
  worker: string;
  resource: string;
  fence: number;
  enteredAtMs: number;
  leftAtMs: number;
  /** The end of the validity, as last read by the worker, or the moment at which its signal aborted. */
  validUntilMs: number;
  /** When the database replied to the read. Infinity if it refused, or was never asked. */
  readAtMs: number;
  /** When the write was sent. Infinity if there was none. */
  wroteAtMs: number;
  /** The result of the write. A refused read counts as a refused write, since none can follow. */
  write: "accepted" | "refused" | "none";
  /** The larger token for which the database refused. */
  newestFence?: number;
}

/** What a worker reports. Times are on the clock of `monotonicMs`. */
export type WorkerEvent = { readonly worker: string; readonly resource: string } & (
  | { readonly kind: "waiting" }
  | { readonly kind: "entered"; readonly fence: number; readonly atMs: number; readonly waitedMs: number }
  | ({ readonly kind: "left" } & Visit)
  | { readonly kind: "failed"; readonly code: string; readonly message: string }
);

/** The state of a node, and when it came up or was killed. */
export type NodeState = { state: "up" | "down" | "restarting"; sinceMs: number };

/** A resource, as last inspected. */
export interface Sample extends Partial<Pick<Inspection, "label" | "remainingMs" | "fence">> {
  /** The counter in the database. */
  readonly value: number;
  /** The increments that were known by then. */
  readonly increments: number;
  /** The increments known at the sample before that the counter does not show. */
  readonly lost: number;
}

/** The state of a run, and its story in plain words. Views and verdict are functions of it. */
export class Run {
  readonly setup: Setup;
  beganAtMs: number | null = null;
  readonly nodes = new Map<string, NodeState>(nodeNames.map((name) => [name, { state: "up", sinceMs: 0 }]));
  readonly samples = new Map<string, Sample>(resources.map(({ name }) => [name, { value: 0, increments: 0, lost: 0 }]));
  /** The resource that each worker waits for. */
  readonly waiting = new Map<string, string>();
  /** The waiting times for all locks, in the order of the grants. */
  readonly waitsMs: number[] = [];
  grantsWhileTwoDown = 0;
  readonly visits: Visit[] = [];
  /** How often workers failed, by the code of the error. The sleeper's lost lock does not count. */
  readonly failures = new Map<string, number>();
  /** The pause of the sleeper, and the result of its late write. */
  pause: { readonly sinceMs: number; hasSuccessor?: boolean; write?: Visit["write"] } | null = null;
  readonly finished = new Set<string>();
  readonly problems: string[] = [];
  readonly log: { readonly atMs: number; readonly text: string }[] = [];

  constructor(setup: Setup) {
    this.setup = setup;
  }

  /** The number of nodes in a state. */
  count(state: NodeState["state"]): number {
    return [...this.nodes.values()].filter((node) => node.state === state).length;
  }

  /** The number of increments that workers have made. */
  increments(name: string): number {
    return this.visits.filter(({ resource, write }) => resource === name && write === "accepted").length;
  }

  /** The number of increments that the counters are known not to show. */
  get lostUpdates(): number {
    return [...this.samples.values()].reduce((sum, { lost }) => sum + lost, 0);
  }

  get staleWritesRefused(): number {
    return this.visits.filter(({ write }) => write === "refused").length;
  }

  /** Adds a line to the story. */
  say(text: string): void {
    const nowMs = monotonicMs();
    this.log.push({ atMs: nowMs - (this.beganAtMs ?? nowMs), text });
  }

  /**
   * Compares the counter with the increments that were known before it was read. Later reports may be of increments that
   * came after the read.
   */
  sample(name: string, seen: Omit<Sample, "increments" | "lost">): void {
    const lost = Math.max(0, (this.samples.get(name)?.increments ?? 0) - seen.value);
    this.samples.set(name, { ...seen, increments: this.increments(name), lost });
  }

  /** Takes in what a worker tells. */
  hear(event: WorkerEvent): void {
    const { kind, worker, resource } = event;
    if (kind === "waiting") this.waiting.set(worker, resource);
    else this.waiting.delete(worker);
    if (kind === "entered") this.#enter(event);
    if (kind === "left") this.#leave(event);
    if (kind !== "failed" || (event.code === "LOCK_LOST" && worker === sleeper)) return;
    const { code, message } = event;
    this.failures.set(code, (this.failures.get(code) ?? 0) + 1);
    if (code === "LOCK_LOST") this.say(yellow(`${worker} lost its lock, and wrote nothing: ${message}`));
    if (code === "QUORUM_UNREACHABLE") this.say(yellow(`${worker} gave up: ${message}`));
  }

  /** A worker has failed, or the run could not go on. Both are part of the verdict. */
  fail(error: Error, worker?: string): void {
    this.problems.push(worker === undefined ? error.message : `${worker}: ${error.message}`);
    this.say(red(`${worker === undefined ? "The run was cut short" : `${worker} failed`}: ${error.message}`));
  }

  #enter({ worker, resource, ...event }: WorkerEvent & { readonly kind: "entered" }): void {
    this.waitsMs.push(event.waitedMs);
    const down = [...this.nodes.values()].filter(({ state, sinceMs }) => state !== "up" && sinceMs < event.atMs);
    if (down.length >= 2) this.grantsWhileTwoDown += 1;
    const { pause } = this;
    if (!pause || pause.hasSuccessor || resource !== ledger.name || event.atMs < pause.sinceMs) return;
    pause.hasSuccessor = true;
    if (this.setup.locked) this.say(`${worker} is granted ${resource}, with the larger token ${event.fence}.`);
  }

  #leave(visit: Visit): void {
    const { worker, resource, fence, write, newestFence } = visit;
    this.visits.push(visit);
    if (worker !== sleeper) {
      const late = `A late write of ${worker} to ${resource} was refused: ${fence} is below ${newestFence}.`;
      if (write === "refused") this.say(yellow(late));
      return;
    }
    if (this.pause) this.pause.write = write;
    const ignorance = `without a token, the database could not know that ${worker} was late`;
    const endings = {
      none: yellow(`${worker} wrote nothing.`),
      accepted: red(`ACCEPTED: ${ignorance}. The write undid those of others.`),
      refused: green(`REFUSED: the database has seen token ${newestFence}, and the token of ${worker} is ${fence}.`),
    };
    this.say(endings[write]);
    if (write !== "refused") return;
    this.say("Without tokens, this write would have undone another worker's. No lock can prevent that.");
  }
}
