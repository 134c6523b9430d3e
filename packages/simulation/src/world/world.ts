import TinyQueue from "tinyqueue";
import type { Dice } from "../scenario/dice.ts";

/** What happens first among what is due at the same moment: an event loop runs timers, reads input, then the rest. */
export const turn = { fault: 0, timer: 1, input: 2, afterInput: 3 } as const;
export type Turn = (typeof turn)[keyof typeof turn];

/** Somebody to whom things happen. */
export interface Actor {
  readonly dice: Dice;
  /** Nothing happens to it before this moment of true time: it is paused or suspended. */
  readonly heldUntilMs: number;
  /** Nothing happens to it any more. */
  readonly isDead: boolean;
}

/** Something that will happen. */
interface Happening {
  atMs: number;
  serial: number;
  readonly turn: Turn;
  readonly actor: Actor | undefined;
  readonly run: () => void;
  isCancelled: boolean;
}

/** More than any sound run needs; a run that reaches it goes in circles. */
const mostEvents = 1_000_000;

/** True time, which no process can read, and all that is still to happen in it. */
export class World {
  #nowMs = 0;
  #serial = 0;
  #events = 0;
  #running: Actor | undefined;
  readonly #queue = new TinyQueue<Happening>([], (a, b) => a.atMs - b.atMs || a.turn - b.turn || a.serial - b.serial);

  /** True time in milliseconds. The world begins at 0, and so do its wall clocks: tokens tell the microsecond. */
  get nowMs(): number {
    return this.#nowMs;
  }

  /** Whose code is running, if it is somebody's. */
  get running(): Actor | undefined {
    return this.#running;
  }

  /** How many things have happened. */
  get events(): number {
    return this.#events;
  }

  /**
   * Lets something happen at a moment, or as soon after it as the actor is neither paused nor suspended.
   *
   * @returns a function that cancels it
   */
  at(atMs: number, what: Turn, run: () => void, actor?: Actor): () => void {
    const happening: Happening = {
      atMs: Math.max(atMs, this.#nowMs),
      serial: this.#serial++,
      turn: what,
      actor,
      run,
      isCancelled: false,
    };
    this.#queue.push(happening);
    return () => {
      happening.isCancelled = true;
    };
  }

  /** Lets time pass until that moment, or until it is said to be enough. */
  async runUntil(endMs: number, isEnough: () => boolean = () => false): Promise<void> {
    await microtasks();
    while (!isEnough()) {
      const next = this.#queue.peek();
      if (next === undefined || next.atMs > endMs) {
        this.#nowMs = Math.max(this.#nowMs, endMs);
        return;
      }
      this.#queue.pop();
      const { actor } = next;
      if (next.isCancelled || actor?.isDead) continue;
      this.#nowMs = next.atMs;
      if (actor !== undefined && actor.heldUntilMs > next.atMs) {
        next.atMs = actor.heldUntilMs;
        next.serial = this.#serial++;
        this.#queue.push(next);
        continue;
      }
      await this.#happen(next);
    }
  }

  async #happen({ run, actor }: Happening): Promise<void> {
    this.#events += 1;
    if (this.#events > mostEvents) throw new Error(`more than ${mostEvents} events: the simulation goes in circles`);
    this.#running = actor;
    run();
    await microtasks();
    this.#running = undefined;
  }
}

/**
 * Lets all promise reactions that are ready run: what the code of one turn leads to at once, as in an event loop. Node
 * runs the next tick when no reaction is left, and a turn of its own event loop for each event would take twice as long.
 */
export function microtasks(): Promise<void> {
  return new Promise((resolve) => process.nextTick(resolve));
}
