import type { Clock } from "@holdfast/core";
import { timerMaxMs } from "@holdfast/core/node";
import type { Dice } from "../scenario/dice.ts";
import { type Actor, phase, type World } from "./world.ts";

/**
 * A process with its own clocks, in which one or more workers share a `Redlock`.
 *
 * Code can notice that time has passed within a turn of the event loop only where it reads a clock or sends a message:
 * its _steps_. A pause therefore strikes either between two turns or at a step. After a pause at a step, the rest of
 * that turn runs at a later moment than the world's present.
 */
export class ClientProcess implements Actor, Clock {
  readonly name: string;
  readonly dice: Dice;
  readonly #world: World;
  /** The source of random numbers for its messages to the storage. */
  readonly storageDice: Dice;
  readonly #timerDice: Dice;
  readonly #pauses: { stepsLeft: number; readonly strike: () => void }[] = [];
  readonly #pausesBeforeActing: (() => void)[] = [];
  heldUntilMs = 0;
  #heldMs = 0;
  #suspendedMs = 0;
  #wallOffsetMs = 0;
  #rate = 1;
  #diedAtMs = Infinity;
  #isUndisturbed = false;
  /** How many timers are set. */
  timers = 0;

  /**
   * @param world the world that it is part of
   * @param name its name in the timeline
   * @param dice the source of its random numbers
   */
  constructor(world: World, name: string, dice: Dice) {
    this.#world = world;
    this.name = name;
    this.dice = dice;
    this.#timerDice = dice.fork("timers");
    this.storageDice = dice.fork("storage");
  }

  get isDead(): boolean {
    return this.#diedAtMs < Infinity;
  }

  /** Whether it lived to send what its code sent at this moment: after a pause within a turn, its code runs ahead. */
  livedAt(atMs: number): boolean {
    return atMs <= this.#diedAtMs;
  }

  /** Whether a pause or suspension has only just ended: what the process saw before may be out of date. */
  get wasJustHeld(): boolean {
    return this.heldUntilMs >= this.#world.nowMs;
  }

  /** The moment of true time that this process has reached. It is ahead of the world's after a pause at a step. */
  get nowMs(): number {
    return Math.max(this.#world.nowMs, this.heldUntilMs);
  }

  /** How long it has run by its own clock, without pauses and suspensions. */
  get awakeMs(): number {
    return (this.nowMs - this.#heldMs) * this.#rate;
  }

  readonly monotonicMs = (): number => {
    this.step();
    return this.#monotonicMs();
  };

  readonly wallMs = (): number => {
    this.step();
    return this.#wallMs();
  };

  /** What its clocks show. Reading them here is not a step. */
  get readings(): { readonly monotonicMs: number; readonly wallMs: number } {
    return { monotonicMs: this.#monotonicMs(), wallMs: this.#wallMs() };
  }

  /** Starts a timer as real ones are: whole milliseconds, at least one, and a little late. */
  readonly startTimer = (delayMs: number, callback: () => void): (() => void) => {
    const wholeMs = Math.max(1, Math.trunc(Math.min(delayMs, timerMaxMs)));
    const dueMs = this.#monotonicMs() + wholeMs + this.#timerDice.next();
    this.timers += 1;
    let cancelWait = (): void => {};
    let isOver = false;
    const end = (): void => {
      if (!isOver) this.timers -= 1;
      isOver = true;
    };
    const wait = (): void => {
      const leftMs = (dueMs - this.#monotonicMs()) / this.#rate;
      cancelWait = this.#world.at(this.nowMs + leftMs, phase.timer, ring, this);
    };
    const ring = (): void => {
      const stoodStill = dueMs - this.#monotonicMs() > 1e-6;
      if (stoodStill) wait();
      else {
        end();
        callback();
      }
    };
    wait();
    return () => {
      cancelWait();
      end();
    };
  };

  readonly afterPendingIo = (callback: () => void): void => {
    this.#world.at(this.nowMs, phase.afterInput, callback, this);
  };

  /** Waits by its own clock. */
  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.startTimer(ms, resolve);
    });
  }

  /** Delivers something to the process at a moment of true time. */
  receive(atMs: number, callback: () => void): void {
    this.#world.at(atMs, phase.input, callback, this);
  }

  /** Marks a step: the code can notice that time has passed, and a pause can strike. */
  step(): void {
    if (this.#pauses.length === 0 || this.#isUndisturbed) return;
    for (const pause of this.#pauses) pause.stepsLeft -= 1;
    const due = this.#pauses.filter(({ stepsLeft }) => stepsLeft < 0);
    for (const pause of due) {
      this.#pauses.splice(this.#pauses.indexOf(pause), 1);
      pause.strike();
    }
  }

  /** Calls `read` with no pause striking meanwhile. */
  undisturbed<T>(read: () => T): T {
    this.#isUndisturbed = true;
    try {
      return read();
    } finally {
      this.#isUndisturbed = false;
    }
  }

  /** Marks the moment between looking at the lock and acting on it. */
  beforeActing(): void {
    this.#pausesBeforeActing.shift()?.();
  }

  /** Pauses the process: nothing runs for `ms`. */
  hold(ms: number): void {
    this.heldUntilMs = this.nowMs + ms;
    this.#heldMs += ms;
    this.#world.at(this.heldUntilMs, phase.fault, () => {}); // a run may end when it resumes
  }

  /** Schedules a pause after `stepsLeft` more steps; 0 means at the next one. */
  pauseAtStep(stepsLeft: number, strike: () => void): void {
    this.#pauses.push({ stepsLeft, strike });
  }

  /** Schedules a pause for the next time that the process acts on its lock. */
  pauseBeforeActing(strike: () => void): void {
    this.#pausesBeforeActing.push(strike);
  }

  /** Drops scheduled pauses that have not struck yet. */
  calmDown(): void {
    this.#pauses.length = 0;
    this.#pausesBeforeActing.length = 0;
  }

  /** Suspends the machine: nothing runs for `ms`, and the monotonic clock stands still. */
  suspend(ms: number): void {
    this.hold(ms);
    this.#suspendedMs += ms;
  }

  /** Sets the wall clock forward, or back if `byMs` is negative. */
  setWall(byMs: number): void {
    this.#wallOffsetMs += byMs;
  }

  /** Sets the rate of its clocks relative to true time, counted from the start of the run. */
  drift(rate: number): void {
    this.#rate = rate;
  }

  /** Crashes the process: it runs and sends nothing from here on. */
  die(): void {
    this.#diedAtMs = this.#world.nowMs;
  }

  #wallMs(): number {
    return this.nowMs * this.#rate + this.#wallOffsetMs;
  }

  #monotonicMs(): number {
    return (this.nowMs - this.#suspendedMs) * this.#rate;
  }
}
