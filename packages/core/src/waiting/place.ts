import type { Claim } from "../claim.ts";
import { Pause } from "../pause.ts";
import type { WaitQueue } from "./wait-queue.ts";

/** How many locks in a row may pass from hand to hand in this process before others get their turn. */
const handOversMax = 16;

/** How long that may go on, in milliseconds. */
const handingOverMsMax = 50;

/** A lock of this process that the next waiter may take over. */
interface Offer {
  readonly claim: Claim;
  settle(isTaken: boolean): void;
}

/** A call to acquire, as it stands in the queue; and then the lock that it leads to. */
export class Place {
  readonly resources: readonly string[];
  readonly #queue: WaitQueue;
  readonly #pause: Pause;
  readonly #longestDelayMs: number;
  /** When the next attempt is worth making. */
  #dueAtMs = Infinity;
  #offer: Offer | undefined;
  #handOvers = 0;
  #handingOverSinceMs: number | undefined;

  /**
   * @param queue where it stands
   * @param resources what it waits for, or holds
   * @param longestDelayMs how long it waits between attempts at the most, whatever becomes of others, in milliseconds
   */
  constructor(queue: WaitQueue, resources: readonly string[], longestDelayMs: number) {
    this.#queue = queue;
    this.resources = resources;
    this.#longestDelayMs = longestDelayMs;
    this.#pause = new Pause(queue.clock);
  }

  /** Whether to make an attempt now: only the first of this process asks the nodes, when it is worth it. */
  get isDue(): boolean {
    return this.#offer !== undefined || this.#untilDueMs <= 0;
  }

  /** The claim that the next attempt may take over. */
  get predecessor(): Claim | undefined {
    return this.#offer?.claim;
  }

  /** Who waits in this process for just what it holds, and is the next. */
  get successor(): Place | undefined {
    return this.#queue.successorOf(this);
  }

  /** Waits until it is or may be due, but no longer than this, or until the signal aborts. */
  async pause(delayMs: number, signal: AbortSignal | undefined): Promise<void> {
    if (!this.isDue) await this.#pause.wait(Math.min(delayMs, this.#untilDueMs), signal);
  }

  /** An attempt begins: what happens from now on counts for the time after it. */
  beginAttempt(): void {
    this.#dueAtMs = Infinity;
    this.#queue.beginAttempt(this);
  }

  /** The attempt was lost: the next is due after this delay, or earlier if something happens. */
  lostAttempt(delayMs: number): void {
    this.#declineOffer();
    this.dueIn(delayMs);
  }

  /** The next attempt is worth making in so many milliseconds. */
  dueIn(delayMs: number): void {
    this.#dueAtMs = Math.min(this.#dueAtMs, this.#queue.clock.monotonicMs() + delayMs);
    this.#pause.wake();
  }

  /** It leaves the resources to others for so long, but never for longer than any other delay. */
  yieldFor(delayMs: number): void {
    this.dueIn(Math.min(delayMs, this.#longestDelayMs));
  }

  /** It has the lock. */
  hold(): void {
    this.#queue.hold(this);
    this.#handingOverSinceMs ??= this.#queue.clock.monotonicMs();
    this.#offer?.settle(true);
    this.#offer = undefined;
  }

  /**
   * It has given up waiting, or its lock has ended.
   *
   * @param isOthersTurn whether nodes have named somebody else
   */
  leave(isOthersTurn = false): void {
    this.#declineOffer();
    this.#queue.leave(this, isOthersTurn);
  }

  /**
   * Offers a claim to the successor. To hand it over takes one round trip, where to release it and claim it again takes two;
   * but others, elsewhere, do not get their turn meanwhile, so it only goes on for a while.
   *
   * @returns whether it was taken; undefined if there is nobody to offer it to
   */
  handOver(claim: Claim): Promise<boolean> | undefined {
    const sinceMs = this.#handingOverSinceMs ?? 0;
    const next = this.successor;
    if (next === undefined || !next.#pause.isWaiting || this.#handOvers === handOversMax) return undefined;
    if (this.#queue.clock.monotonicMs() - sinceMs >= handingOverMsMax) return undefined;
    next.#handOvers = this.#handOvers + 1;
    next.#handingOverSinceMs = sinceMs;
    return new Promise((settle) => {
      next.#offer = { claim, settle };
      next.#pause.wake();
    });
  }

  get #untilDueMs(): number {
    return this.#queue.isFirst(this) ? this.#dueAtMs - this.#queue.clock.monotonicMs() : Infinity;
  }

  #declineOffer(): void {
    if (this.#offer === undefined) return;
    this.#offer.settle(false);
    this.#offer = undefined;
    this.#handOvers = 0;
    this.#handingOverSinceMs = undefined;
  }
}
