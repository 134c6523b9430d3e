import type { Ensemble } from "../claim.ts";
import type { Clock } from "../clock.ts";
import { failureMessage, QueueFullError } from "../errors.ts";
import type { Place } from "./place.ts";
import { Rivals } from "./rivals.ts";

/** How long this process listens to rivals after it has last held or wanted the resource, in milliseconds. */
const listenMs = 1000;

/** When to try although nobody has said that it is this process's turn again, in milliseconds. */
const missedTurnMs = 200;

/** One resource, as this process knows it. */
class Line {
  /** The lock of this process on it. */
  holder: Place | undefined;
  /** Those who wait for it, in the order in which they came. */
  readonly waiters: Set<Place> = new Set();
  /** The other processes that want it, if there seem to be any. */
  rivals: Rivals | undefined;
  cancelTimer: (() => void) | undefined;
}

/**
 * Who waits and who holds a lock in one `Redlock`: first come, first served for each resource. A waiter for several
 * resources stands in the line of each of them, and lets those pass who want only part of them: it waits for `a` and `b`
 * while somebody holds `a`, who may be just about to ask for `b` as well.
 */
export class WaitQueue {
  readonly clock: Clock;
  readonly #ensemble: Ensemble;
  readonly #maxWaiters: number;
  readonly #lines = new Map<string, Line>();
  #size = 0;

  /**
   * @param ensemble the nodes
   * @param maxWaiters how many may wait
   */
  constructor(ensemble: Ensemble, maxWaiters: number) {
    this.clock = ensemble.clock;
    this.#ensemble = ensemble;
    this.#maxWaiters = maxWaiters;
  }

  /** @throws {QueueFullError} */
  enter(place: Place): void {
    const { resources } = place;
    if (this.#size >= this.#maxWaiters) {
      const remark = `${this.#size} calls are under way, as many as maxWaiters`;
      throw new QueueFullError(failureMessage("lock", resources, [], 0, remark), resources);
    }
    this.#size += 1;
    for (const resource of resources) this.#open(resource).waiters.add(place);
    if (this.isFirst(place)) place.yieldFor(this.#courtesyMs(place));
  }

  /** It waits no longer, as it has the lock: until it leaves, nobody in this process needs to ask the nodes for that. */
  hold(place: Place): void {
    this.#stopWaiting(place);
    for (const resource of place.resources) this.#open(resource).holder = place;
  }

  /** It neither waits any longer, nor holds anything; if it is others' turn, those who wait here stand in line behind them. */
  leave(place: Place, isOthersTurn: boolean): void {
    if (isOthersTurn) this.listen(place, 0);
    this.#stopWaiting(place);
    for (const resource of place.resources) {
      const line = this.#lines.get(resource);
      if (line?.holder === place) line.holder = undefined;
      if (isOthersTurn) line?.rivals?.giveWay();
      this.#close(resource);
    }
    for (const resource of place.resources) {
      this.#wake(resource, (waiter) => (isOthersTurn ? missedTurnMs : this.#courtesyMs(waiter)));
    }
  }

  /**
   * Whether nobody in this process holds any of its resources, other than a lock that it may take over; and whether it may
   * pass all who came earlier for them: those who want all that it wants, and more.
   */
  isFirst(place: Place, mayTakeOver?: Place): boolean {
    const wanted = place.resources;
    for (const resource of wanted) {
      const line = this.#lines.get(resource);
      if (line?.holder !== undefined && line.holder !== mayTakeOver) return false;
      for (const { resources } of line?.waiters ?? []) {
        if (resources === wanted) break;
        const mayPass = wanted.length < resources.length && wanted.every((name) => resources.includes(name));
        if (!mayPass) return false;
      }
    }
    return true;
  }

  /** The first who waits for just what this lock covers, if there is nobody whose turn is earlier. */
  successorOf(holder: Place): Place | undefined {
    const { resources } = holder;
    for (const waiter of this.#lines.get(resources[0] as string)?.waiters ?? []) {
      const isMatch =
        waiter.resources.length === resources.length &&
        waiter.resources.every((name, index) => name === resources[index]);
      if (isMatch) return this.isFirst(waiter, holder) ? waiter : undefined;
    }
    return undefined;
  }

  /** See {@link Place.beginAttempt}. */
  beginAttempt(place: Place): void {
    for (const resource of place.resources) this.#lines.get(resource)?.rivals?.beginAttempt();
  }

  /** Others want its resources, too: listens to the nodes for when it is whose turn. */
  listen(place: Place, attemptMs: number): void {
    for (const resource of place.resources) {
      const line = this.#open(resource);
      line.rivals ??= new Rivals(this.#ensemble, resource, () => this.#wake(resource, () => 0));
      line.rivals.watch(attemptMs);
    }
  }

  /** The rivals for the first of its resources that has some. */
  rivalsOf(place: Place): Rivals | undefined {
    for (const resource of place.resources) {
      const rivals = this.#lines.get(resource)?.rivals;
      if (rivals !== undefined) return rivals;
    }
    return undefined;
  }

  #courtesyMs(place: Place): number {
    return this.rivalsOf(place)?.courtesyMs ?? 0;
  }

  /** Tells those who may try in how long they are due. */
  #wake(resource: string, delayMs: (waiter: Place) => number): void {
    for (const waiter of this.#lines.get(resource)?.waiters ?? []) {
      if (this.isFirst(waiter)) waiter.yieldFor(delayMs(waiter));
      if (waiter.resources.length === 1) break; // all behind it want this resource, too
    }
  }

  #stopWaiting(place: Place): void {
    let wasWaiting = false;
    for (const resource of place.resources) {
      if (this.#lines.get(resource)?.waiters.delete(place)) wasWaiting = true;
    }
    if (wasWaiting) this.#size -= 1;
  }

  #open(resource: string): Line {
    const line = this.#lines.get(resource) ?? new Line();
    this.#lines.set(resource, line);
    line.cancelTimer?.();
    return line;
  }

  /** Forgets a line that nobody stands in: later, if others want the resource, as it may soon be wanted here again. */
  #close(resource: string): void {
    const line = this.#lines.get(resource);
    if (line === undefined || line.holder !== undefined || line.waiters.size > 0) return;
    const { rivals } = line;
    if (rivals === undefined) {
      this.#lines.delete(resource);
      return;
    }
    const forget = () => {
      rivals.stop();
      this.#lines.delete(resource);
    };
    line.cancelTimer = this.clock.startTimer(listenMs, forget, { background: true });
  }
}
