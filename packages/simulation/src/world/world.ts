import TinyQueue from "tinyqueue";
import type { Dice } from "../scenario/dice.ts";

/** The order of events that are due at the same moment: an event loop runs timers, reads input, then runs the rest. */
export const phase = { fault: 0, timer: 1, input: 2, afterInput: 3 } as const;
export type Phase = (typeof phase)[keyof typeof phase];

/** A simulated process that events can be addressed to. */
export interface Actor {
  readonly dice: Dice;
  /** The moment of true time until which it is paused or suspended: its events wait. */
  readonly heldUntilMs: number;
  /** Whether it has crashed: its events are dropped. */
  readonly isDead: boolean;
}

/** A scheduled event. */
interface WorldEvent {
  atMs: number;
  serial: number;
  readonly phase: Phase;
  readonly actor: Actor | undefined;
  readonly run: () => void;
  isCancelled: boolean;
}

/** More than any healthy run needs: a run that reaches this limit is in an endless loop. */
const mostEvents = 10_000_000;

/**
 * True time, which no process can read, and the queue of future events. Separate from testkit's `VirtualClock`, which
 * is one process's clock that a test moves: here many processes share one timeline, each with its own clocks and
 * pauses.
 */
export class World {
  /** True time in milliseconds. The world and its wall clocks start at 0, so a token reads as microseconds since then. */
  nowMs = 0;
  /** How many events have run. */
  events = 0;
  /** The process whose code is running, if any. */
  running: Actor | undefined;
  #serial = 0;
  readonly #afterEach: () => void;
  readonly #queue = new TinyQueue<WorldEvent>(
    [],
    (a, b) => a.atMs - b.atMs || a.phase - b.phase || a.serial - b.serial,
  );

  /** @param afterEach called after each event */
  constructor(afterEach: () => void = () => {}) {
    this.#afterEach = afterEach;
  }

  /**
   * Schedules an event. If its actor is paused or suspended at that moment, the event runs when the actor resumes.
   *
   * @returns a function that cancels the event
   */
  at(atMs: number, inPhase: Phase, run: () => void, actor?: Actor): () => void {
    const event: WorldEvent = {
      atMs: Math.max(atMs, this.nowMs),
      serial: this.#serial++,
      phase: inPhase,
      actor,
      run,
      isCancelled: false,
    };
    this.#queue.push(event);
    return () => {
      event.isCancelled = true;
    };
  }

  /** Runs events until `endMs`, or until `isEnough` returns true. */
  async runUntil(endMs: number, isEnough: () => boolean = () => false): Promise<void> {
    await microtasks();
    while (!isEnough()) {
      const next = this.#queue.peek();
      if (next === undefined || next.atMs > endMs) {
        this.nowMs = Math.max(this.nowMs, endMs);
        return;
      }
      this.#queue.pop();
      const { actor } = next;
      if (next.isCancelled || actor?.isDead) continue;
      this.nowMs = next.atMs;
      if (actor !== undefined && actor.heldUntilMs > next.atMs) {
        next.atMs = actor.heldUntilMs;
        next.serial = this.#serial++;
        this.#queue.push(next);
        continue;
      }
      await this.#run(next);
    }
  }

  async #run({ run, actor }: WorldEvent): Promise<void> {
    this.events += 1;
    if (this.events > mostEvents)
      throw new Error(`more than ${mostEvents} events: the simulation is in an endless loop`);
    this.running = actor;
    run();
    await microtasks();
    this.running = undefined;
    this.#afterEach();
  }
}

/**
 * Runs all pending promise reactions, as an event loop does between two events. Node runs the next tick when no
 * reaction is left, and other runtimes run a message of a channel. Node has channels, too, but they take several times as
 * long.
 */
export function microtasks(): Promise<void> {
  return new Promise((resolve) => {
    if (typeof globalThis.process?.nextTick === "function") process.nextTick(resolve);
    else afterReactions(resolve);
  });
}

/** The ends of a channel. Node's types lack the property that browsers have. */
interface Turns {
  readonly port1: { onmessage: (() => void) | null };
  readonly port2: { postMessage(message: null): void };
}

let turns: Turns | undefined;
const waiting: (() => void)[] = [];

/** Calls back in a later turn of the event loop. Browsers delay timers, and not messages. */
function afterReactions(callback: () => void): void {
  if (turns === undefined) {
    turns = new MessageChannel() as unknown as Turns;
    turns.port1.onmessage = () => waiting.shift()?.();
  }
  waiting.push(callback);
  turns.port2.postMessage(null);
}
