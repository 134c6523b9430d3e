import type { Claim, Ensemble } from "../claim.ts";
import type { Settings } from "../options.ts";
import { Pause } from "../pause.ts";
import type { Line } from "./line.ts";
import { Rivals } from "./rivals.ts";
import type { WaitQueue } from "./wait-queue.ts";

/** How many locks in a row may pass from hand to hand in this process before others get their turn. */
const handOversMax = 16;

/** How long that may go on, in milliseconds. */
const handingOverMsMax = 50;

/** When to try although nobody has said that it is this process's turn again, in milliseconds. */
const missedTurnMs = 200;

/** A lock of this process that the next waiter may take over. */
interface Offer {
  readonly claim: Claim;
  settle(isTaken: boolean): void;
}

/**
 * A call to acquire, as it stands in line; and then the lock that it leads to. First come, first served for each resource.
 * A waiter for several resources stands in the line of each of them, and lets those pass who want only part of them: it
 * waits for `a` and `b` while somebody holds `a`, who may be just about to ask for `b` as well.
 */
export class Place {
  readonly resources: readonly string[];
  readonly settings: Settings;
  /** The lines of its `Redlock`. */
  readonly queue: WaitQueue;
  /** The nodes. */
  readonly ensemble: Ensemble;
  /** Whether it stands in line: not before it joins, and no longer when it holds. */
  isWaiting = false;
  /** How many attempts have begun. */
  attempts = 0;
  /** Those in which it stands: of all its resources, from when it waits or holds until it leaves. */
  #lines: readonly Line[] = [];
  #pause: Pause | undefined;
  /** When the next attempt is worth making. */
  #dueAtMs = -Infinity;
  #offer: Offer | undefined;
  /** Whether its question has begun, as far as the queue knows. */
  #hasTurn = false;
  #handOvers = 0;
  #handingOverSinceMs: number | undefined;

  /**
   * @param queue where it stands
   * @param resources what it wants, and then holds
   * @param settings what that is to be like
   */
  constructor(queue: WaitQueue, resources: readonly string[], settings: Settings) {
    this.queue = queue;
    this.ensemble = queue.ensemble;
    this.resources = resources;
    this.settings = settings;
  }

  /** The claim that the next attempt may take over. */
  get predecessor(): Claim | undefined {
    return this.#offer?.claim;
  }

  /** As whom to stand in the lines that nodes keep, if nodes tell when it is whose turn. */
  get waiter(): string | undefined {
    return this.rivals?.isWatching ? this.ensemble.waiter : undefined;
  }

  /** The rivals for the first of its resources that has some. */
  get rivals(): Rivals | undefined {
    for (const { rivals } of this.#lines) if (rivals !== undefined) return rivals;
    return undefined;
  }

  /** Who waits in this process for just what it holds, if there is nobody whose turn is earlier. */
  get successor(): Place | undefined {
    const { resources } = this;
    for (const waiter of this.#lines[0]?.waiters ?? []) {
      const { length } = waiter.resources;
      const isMatch = length === resources.length && waiter.resources.every((name, index) => name === resources[index]);
      if (isMatch) return waiter.isFirst(this) ? waiter : undefined;
    }
    return undefined;
  }

  /**
   * Whether nobody in this process holds any of its resources, other than a lock that it may take over; and whether it may
   * pass all who came earlier for them: those who want all that it wants, and more.
   */
  isFirst(mayTakeOver?: Place): boolean {
    const wanted = this.resources;
    for (const { holder, waiters } of this.#lines) {
      if (holder !== undefined && holder !== mayTakeOver) return false;
      for (const waiter of waiters) {
        if (waiter === this) break;
        const { resources } = waiter;
        const mayPass = wanted.length < resources.length && wanted.every((name) => resources.includes(name));
        if (!mayPass) return false;
      }
    }
    return true;
  }

  /**
   * Joins those who wait, as the last.
   *
   * @throws {QueueFullError}
   */
  wait(): void {
    this.queue.admit(this);
    this.isWaiting = true;
    this.#lines = this.queue.join(this.resources);
    for (const { waiters } of this.#lines) waiters.push(this);
    this.#dueAtMs = Infinity;
    if (this.isFirst()) this.yieldFor(this.#courtesyMs);
  }

  /**
   * Begins an attempt if it is worth it: only the first of this process asks the nodes. What happens from now on counts for
   * the time after it. The attempt ends the question.
   *
   * @returns whether to make it
   */
  beginAttempt(nowMs: number): boolean {
    const isDue = this.#isDue(nowMs);
    if (!isDue) this.#passTurn();
    else if (!this.#hasTurn) this.queue.beginQuestion();
    this.#hasTurn = false;
    if (!isDue) return false;
    this.attempts += 1;
    this.#dueAtMs = Infinity;
    for (const { rivals } of this.#lines) rivals?.beginAttempt();
    return true;
  }

  /** The attempt was lost: the next is due after this delay, or earlier if something happens. */
  lostAttempt(delayMs: number): void {
    this.#declineOffer();
    this.dueIn(delayMs);
  }

  /** Others want its resources, too: listens to the nodes for when it is whose turn. */
  listen(attemptMs: number): void {
    for (const line of this.#lines) {
      line.rivals ??= new Rivals(this.ensemble, line.resource, (delayMs) => line.wake(() => delayMs));
      line.rivals.watch(attemptMs);
    }
  }

  /** Waits until it is or may be due, but no longer than until then, or until the signal of the call aborts. */
  async pause(untilMs: number): Promise<void> {
    const { clock } = this.ensemble;
    const nowMs = clock.monotonicMs();
    const endMs = this.isFirst() ? Math.min(untilMs, this.#dueAtMs) : untilMs;
    if (this.#offer !== undefined || endMs <= nowMs) return;
    this.#pause ??= new Pause(clock);
    await this.#pause.wait(endMs - nowMs, this.settings.signal);
  }

  /**
   * Waits, where many others of this process ask the nodes, until it may, but no longer than until then, or until the signal
   * of the call aborts. Who takes over does not wait, as the release of the other waits for it.
   *
   * @returns whether it may
   */
  async turn(untilMs: number): Promise<boolean> {
    const nowMs = this.ensemble.clock.monotonicMs();
    if (this.#offer !== undefined || !this.#isDue(nowMs)) return true;
    this.#hasTurn = await this.queue.turn(untilMs - nowMs, this.settings.signal);
    return this.#hasTurn;
  }

  /** The next attempt is worth making in so many milliseconds. */
  dueIn(delayMs: number): void {
    const dueAtMs = delayMs > 0 ? this.ensemble.clock.monotonicMs() + delayMs : -Infinity;
    this.#dueAtMs = Math.min(this.#dueAtMs, dueAtMs);
    this.#pause?.wake();
  }

  /** It leaves its resources to others for so long, but never for longer than any other delay. */
  yieldFor(delayMs: number): void {
    this.dueIn(Math.min(delayMs, this.settings.retryDelayMaxMs));
  }

  /** It has the lock, since then: until it leaves, nobody in this process needs to ask the nodes for that. */
  hold(sinceMs: number): void {
    if (this.isWaiting) this.#stopWaiting();
    else this.#lines = this.queue.join(this.resources);
    for (const line of this.#lines) line.holder = this;
    this.#handingOverSinceMs ??= sinceMs;
    this.#offer?.settle(true);
    this.#offer = undefined;
  }

  /**
   * It has given up waiting, or its lock has ended.
   *
   * @param isOthersTurn whether nodes have named somebody else: those who wait here stand in line behind them
   */
  leave(isOthersTurn = false): void {
    this.#declineOffer();
    this.#passTurn();
    if (isOthersTurn) this.listen(0);
    // Whoever stands before one that gives up gains nothing by it.
    const positions = this.#lines.map(({ waiters }) => Math.max(0, waiters.indexOf(this)));
    if (this.isWaiting) this.#stopWaiting();
    for (const line of this.#lines) {
      if (line.holder === this) line.holder = undefined;
      if (isOthersTurn) line.rivals?.giveWay();
    }
    for (const [index, line] of this.#lines.entries()) {
      line.wake((waiter) => (isOthersTurn ? missedTurnMs : waiter.#courtesyMs), positions[index]);
    }
    this.queue.quit(this.#lines);
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
    if (next === undefined || !next.#pause?.isWaiting || this.#handOvers === handOversMax) return undefined;
    if (this.ensemble.clock.monotonicMs() - sinceMs >= handingOverMsMax) return undefined;
    next.#handOvers = this.#handOvers + 1;
    next.#handingOverSinceMs = sinceMs;
    return new Promise((settle) => {
      next.#offer = { claim, settle };
      next.#pause?.wake();
    });
  }

  #passTurn(): void {
    if (this.#hasTurn) this.queue.endQuestion();
    this.#hasTurn = false;
  }

  #isDue(nowMs: number): boolean {
    return this.#offer !== undefined || (this.#dueAtMs <= nowMs && this.isFirst());
  }

  get #courtesyMs(): number {
    return this.rivals?.courtesyMs ?? 0;
  }

  #declineOffer(): void {
    if (this.#offer === undefined) return;
    this.#offer.settle(false);
    this.#offer = undefined;
    this.#handOvers = 0;
    this.#handingOverSinceMs = undefined;
  }

  #stopWaiting(): void {
    this.isWaiting = false;
    this.queue.dismiss();
    for (const { waiters } of this.#lines) waiters.splice(waiters.indexOf(this), 1);
  }
}
