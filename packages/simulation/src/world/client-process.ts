import type { Clock } from "@holdfast/core";
import type { Dice } from "../scenario/dice.ts";
import { type Actor, turn, type World } from "./world.ts";

/** No timer is longer than what fits into 32 bits. */
const longestTimerMs = 2 ** 31 - 1;

/**
 * A process with clocks of its own, in which one or more workers share a `Redlock`.
 *
 * Time that passes in the middle of a turn of its event loop can be noticed only where the code reads a clock or sends
 * something: its _steps_. A pause therefore strikes either between two turns or at a step. From then on, the rest of the
 * turn happens at a later moment than the world is at.
 */
export class ClientProcess implements Actor, Clock {
  readonly name: string;
  readonly dice: Dice;
  readonly #world: World;
  /** For what the network between it and the storage does. */
  readonly storageDice: Dice;
  readonly #timerDice: Dice;
  readonly #pauses: { stepsLeft: number; readonly strike: () => void }[] = [];
  readonly #pausesBeforeActing: (() => void)[] = [];
  #heldUntilMs = 0;
  #heldMs = 0;
  #suspendedMs = 0;
  #wallOffsetMs = 0;
  #rate = 1;
  #wallRate = 1;
  #isDead = false;
  #isUndisturbed = false;
  #timers = 0;

  /**
   * @param world where it lives
   * @param name its name in the timeline
   * @param dice what its randomness comes from
   */
  constructor(world: World, name: string, dice: Dice) {
    this.#world = world;
    this.name = name;
    this.dice = dice;
    this.#timerDice = dice.fork("timers");
    this.storageDice = dice.fork("storage");
  }

  get heldUntilMs(): number {
    return this.#heldUntilMs;
  }

  get isDead(): boolean {
    return this.#isDead;
  }

  /** Whether it was paused or suspended until now: what it saw before may no longer be so. */
  get wasJustHeld(): boolean {
    return this.#heldUntilMs >= this.#world.nowMs;
  }

  /** How many timers are set. */
  get timers(): number {
    return this.#timers;
  }

  /** The true time at which this process is. */
  get nowMs(): number {
    return Math.max(this.#world.nowMs, this.#heldUntilMs);
  }

  /** How long it has run, on its own clock: the time that passed while it was neither paused nor suspended. */
  get awakeMs(): number {
    return (this.nowMs - this.#heldMs) * this.#rate;
  }

  readonly monotonicMs = (): number => {
    this.step();
    return this.#monotonicMs();
  };

  readonly wallMs = (): number => {
    this.step();
    return this.nowMs * this.#wallRate + this.#wallOffsetMs;
  };

  /** As timers are: of whole milliseconds, never less than one, and a little late. */
  readonly startTimer = (delayMs: number, callback: () => void): (() => void) => {
    const wholeMs = Math.max(1, Math.trunc(Math.min(delayMs, longestTimerMs)));
    const dueMs = this.#monotonicMs() + wholeMs + this.#timerDice.next();
    this.#timers += 1;
    let cancelWait = (): void => {};
    let isOver = false;
    const end = (): void => {
      if (!isOver) this.#timers -= 1;
      isOver = true;
    };
    const wait = (): void => {
      const leftMs = (dueMs - this.#monotonicMs()) / this.#rate;
      cancelWait = this.#world.at(this.nowMs + leftMs, turn.timer, ring, this);
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
    this.#world.at(this.nowMs, turn.afterInput, callback, this);
  };

  /** Waits so long on its own clock. */
  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.startTimer(ms, resolve);
    });
  }

  /** Lets something arrive at the process at a moment of true time. */
  receive(atMs: number, callback: () => void): void {
    this.#world.at(atMs, turn.input, callback, this);
  }

  /** A moment at which the code can notice that time has passed, and at which a pause can strike. */
  step(): void {
    if (this.#pauses.length === 0 || this.#isUndisturbed) return;
    for (const pause of this.#pauses) pause.stepsLeft -= 1;
    const due = this.#pauses.filter(({ stepsLeft }) => stepsLeft < 0);
    for (const pause of due) {
      this.#pauses.splice(this.#pauses.indexOf(pause), 1);
      pause.strike();
    }
  }

  /** Reads something in one moment, in which no pause strikes. */
  undisturbed<T>(read: () => T): T {
    this.#isUndisturbed = true;
    try {
      return read();
    } finally {
      this.#isUndisturbed = false;
    }
  }

  /** The moment between having looked at the lock and acting on what was seen. */
  beforeActing(): void {
    this.#pausesBeforeActing.shift()?.();
  }

  /** Nothing runs for so long. */
  hold(ms: number): void {
    this.#heldUntilMs = this.nowMs + ms;
    this.#heldMs += ms;
  }

  /** Pauses at a step to come; 0 is the very next. */
  pauseAtStep(stepsLeft: number, strike: () => void): void {
    this.#pauses.push({ stepsLeft, strike });
  }

  /** Pauses the next time that it acts on its lock. */
  pauseBeforeActing(strike: () => void): void {
    this.#pausesBeforeActing.push(strike);
  }

  /** Drops the pauses that have not struck yet. */
  calmDown(): void {
    this.#pauses.length = 0;
    this.#pausesBeforeActing.length = 0;
  }

  /** Nothing runs for so long, and the monotonic clock stands still. */
  suspend(ms: number): void {
    this.hold(ms);
    this.#suspendedMs += ms;
  }

  /** Sets the wall clock forward, or back. */
  setWall(byMs: number): void {
    this.#wallOffsetMs += byMs;
  }

  /** Lets its clocks run faster than true time, or slower, from the beginning on. */
  drift(rate: number): void {
    this.#rate = rate;
    this.#wallRate = rate;
  }

  /** Ends it: nothing of it runs or is sent any more. */
  die(): void {
    this.#isDead = true;
  }

  #monotonicMs(): number {
    return (this.nowMs - this.#suspendedMs) * this.#rate;
  }
}
