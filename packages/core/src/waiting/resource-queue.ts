import type { Claim } from "../claim.ts";
import type { Clock } from "../clock.ts";
import type { Settings } from "../options.ts";
import type { Pause } from "../pause.ts";
import type { ReleaseNotifications } from "./release-notifications.ts";

/** How many of the latest locks each resource remembers. */
export const servedMax = 8;

/**
 * The state of a call: `queued` until it may try; `attempting` while it makes an attempt; `holding` while it holds the
 * lock; `left` once it has given up or its lock has ended.
 */
export type WaiterState = "queued" | "attempting" | "holding" | "left";

/** A lock of this process that a waiter may take over. */
export interface Offer {
  readonly claim: Claim;
  readonly holder: Waiter;
  /** Reports to the holder whether the waiter took over the lock. */
  settle(isTaken: boolean): void;
}

/** A call to acquire, and then its lock until that ends. Only `LocalQueues` changes it. */
export class Waiter {
  readonly resources: readonly string[];
  readonly settings: Settings;
  /** Whether it wants a shared lock. */
  readonly isShared: boolean;
  /** The position in order of arrival. */
  readonly order: number;
  state: WaiterState = "attempting";
  /** The number of attempts made. */
  attempts = 0;
  /** The queues of its resources, in order; empty for a call that does not wait, until it holds the lock. */
  queues: readonly ResourceQueue[] = [];
  /** The group of waiters for the same resources, once the call had to queue, and its position in the heap there. */
  group: WaiterGroup | undefined;
  position = 0;
  pause: Pause | undefined;
  offer: Offer | undefined;
  /** When it got its lock, on the monotonic clock. */
  heldSinceMs = 0;
  /** The number of consecutive hand-overs that led to this lock, and when they started. */
  handOvers = 0;
  handingOverSinceMs: number | undefined;
  /**
   * A lock whose order exceeds this has passed the waiter: its own order, or the latest when it last gave resources up.
   */
  overtakenSince: number;
  /** The number of its attempts denied since it last gave up collecting, and when the first one was. */
  denials = 0;
  deniedSinceMs: number = Infinity;
  /** Whether this process reserves free resources for it. */
  isReserving = false;
  /** Whether it claims its resources one by one on the nodes; the last such claim, and how many resources it covers. */
  isCollecting = false;
  collected: Claim | undefined;
  collectedCount = 0;
  /** When it gives up its reserved and collected resources, and when its last claim of some gets too old. */
  keepUntilMs: number = Infinity;
  collectedUntilMs: number = Infinity;
  /** How often it has given resources up. */
  yieldCount = 0;

  constructor(resources: readonly string[], settings: Settings, order: number) {
    this.resources = resources;
    this.settings = settings;
    this.isShared = settings.mode === "shared";
    this.order = order;
    this.overtakenSince = order;
  }

  /** The queues of its next attempt: all, or one more than it has collected. */
  get wanted(): readonly ResourceQueue[] {
    return this.isCollecting ? this.queues.slice(0, this.collectedCount + 1) : this.queues;
  }
}

/**
 * The state of one resource in this process: the call that uses it now, and the waiters that it blocks.
 *
 * A group of waiters is parked at one resource that blocks it, and reconsidered when that resource opens. Opening a
 * resource therefore costs O(log n) for each group that is reconsidered, however many waiters there are.
 */
export class ResourceQueue {
  readonly resource: string;
  /**
   * The call that uses the resource: it tries to lock it, holds it, has collected it, or reserves it. Of several, one.
   */
  holder: Waiter | undefined;
  /**
   * The other calls that use the resource: they share it, take it over, or were overtaken by the holder. A call is the
   * holder or one of these, never both.
   */
  #others: Set<Waiter> | undefined;
  /** The latest call for an exclusive lock that was overtaken. */
  #overtaken: Waiter | undefined;
  /** The order of the latest calls of this process that locked the resource while other calls wanted it. */
  readonly #served: number[] = [];
  /** The order of the latest call at the time of the last known release by another process. */
  releasedSince: number = -Infinity;
  /** The number of calls that refer to this object. */
  users = 0;
  /**
   * When the next attempt is due, on the monotonic clock: `-Infinity` without a delay. {@link ResourceQueue.delayUntil} sets
   * it.
   */
  dueAtMs: number = -Infinity;
  /** The waiter whose failed attempt caused the delay. */
  #delayedBy: Waiter | undefined;
  /** The earliest moment that a hint has named since the latest attempt of any call started, on the monotonic clock. */
  hintedAtMs: number = Infinity;
  /** Notifications about releases by other processes, once another process has blocked an attempt. */
  notifications: ReleaseNotifications | undefined;
  /** Cancels the timer that drops this object after its last user has left. */
  cancelForget: (() => void) | undefined;
  readonly #clock: Clock;
  readonly #onDue: () => void;
  /** The groups parked here. */
  readonly #parked = new Heap<WaiterGroup>();
  /** When the timer that ends the delay fires, on the monotonic clock: `Infinity` without a delay or parked groups. */
  timerAtMs: number = Infinity;
  #cancelTimer: (() => void) | undefined;

  /**
   * @param resource the name of the resource
   * @param clock measures delays
   * @param onDue called when a delay ends while waiters are parked here, with all resources of the same delay: timers for
   *   one moment fire in any order
   */
  constructor(resource: string, clock: Clock, onDue: (queues: readonly ResourceQueue[]) => void) {
    this.resource = resource;
    this.#clock = clock;
    this.#onDue = () => {
      this.timerAtMs = Infinity;
      const { dueAtMs } = this;
      if (dueAtMs >= clock.monotonicMs() + 1) {
        this.#schedule();
        return;
      }
      const { queues = [] } = this.#delayedBy ?? {};
      const due = [this, ...queues.filter((queue) => queue !== this && queue.dueAtMs === dueAtMs)];
      for (const queue of due) queue.delayUntil(-Infinity);
      onDue(due);
    };
  }

  /** Whether no delay applies. While groups are parked here, only the timer ends a delay. */
  get isDue(): boolean {
    return this.dueAtMs === -Infinity || (this.first === undefined && this.dueAtMs <= this.#clock.monotonicMs());
  }

  /**
   * Delays the next attempt. `-Infinity` ends the delay. All delays start here.
   *
   * @param waiter the waiter whose failed attempt is the reason
   */
  delayUntil(atMs: number, waiter?: Waiter): void {
    this.dueAtMs = atMs;
    this.#delayedBy = waiter;
    this.#schedule();
  }

  /** Ends the delay by then, as another process has released the resource. */
  hint(atMs: number): void {
    this.hintedAtMs = Math.min(this.hintedAtMs, atMs);
    if (atMs < this.dueAtMs) this.delayUntil(atMs);
  }

  /** Notes that an attempt starts: only later hints shorten the delay after it. */
  beginAttempt(): void {
    this.hintedAtMs = Infinity;
    this.notifications?.beginAttempt();
  }

  /** Whether a waiter for a shared lock finds one here that it may join. */
  isSharedWith(waiter: Waiter): boolean {
    const { holder } = this;
    return holder?.state === "holding" && holder.isShared && holder !== waiter;
  }

  /** Whether other calls than the holder use the resource. */
  get isUsedByOthers(): boolean {
    return this.#others !== undefined;
  }

  /** Notes that a call uses the resource: instead of a call that only reserved it, or beside those that use it. */
  use(waiter: Waiter): void {
    const { holder } = this;
    if (holder === waiter || this.#others?.has(waiter)) return;
    if (holder === undefined || isReservation(holder)) this.holder = waiter;
    else this.#addOther(waiter);
  }

  /** Notes that a call of this process has locked the resource. */
  locked(waiter: Waiter): void {
    const { holder } = this;
    if (this.#others !== undefined) this.#removeOther(waiter);
    this.holder = waiter;
    if (holder !== undefined && holder !== waiter && !isReservation(holder)) {
      this.#addOther(holder);
      if (!holder.isShared && holder.state === "attempting") this.#overtaken = holder;
    }
    if (this.dueAtMs > -Infinity) this.delayUntil(-Infinity);
    this.notifications?.locked();
    if (this.users === 1) return;
    this.#served.push(waiter.order);
    if (this.#served.length > servedMax) this.#served.shift();
  }

  /**
   * Removes a call that no longer uses the resource.
   *
   * @returns whether no call of this process uses it now
   */
  vacate(waiter: Waiter): boolean {
    this.#removeOther(waiter);
    if (this.holder === waiter) {
      [this.holder] = this.#others ?? [];
      if (this.holder !== undefined) this.#removeOther(this.holder);
    }
    return this.holder === undefined;
  }

  /** Counts the recent locks of calls with a higher order than `since`, at most 8. */
  passedBy(since: number): number {
    let count = 0;
    for (const order of this.#served) if (order > since) count += 1;
    return count;
  }

  /**
   * Whether this waiter may try to lock the resource now, or reserve it. A reservation holds against later calls only. A
   * sharer joins others only in turn (W2).
   */
  isOpenTo(waiter: Waiter): boolean {
    if (!this.isDue) return false;
    const { holder } = this;
    if (holder === undefined || (isReservation(holder) && holder.order >= waiter.order)) return true;
    const overtaken = this.#overtaken?.state === "attempting" ? this.#overtaken.order : Infinity;
    const earliest = Math.min(this.first?.order ?? Infinity, overtaken);
    return waiter.isShared && this.isSharedWith(waiter) && waiter.order <= earliest;
  }

  /** The parked group whose first waiter is the oldest. */
  get first(): WaiterGroup | undefined {
    return this.#parked.first;
  }

  /**
   * Parks a group here, and schedules its reconsideration for the end of the current delay, which is not longer than the
   * delays of its first waiter.
   */
  park(group: WaiterGroup): void {
    if (group.head !== undefined && this.dueAtMs > -Infinity) {
      const { retryDelayMs, retryDelayMaxMs } = group.head.settings;
      this.dueAtMs = Math.min(this.dueAtMs, this.#clock.monotonicMs() + retryDelayMaxMs + retryDelayMs);
    }
    group.parkedAt = this;
    this.#parked.add(group);
    this.#schedule();
  }

  /** Removes a group that is parked here. */
  unpark(group: WaiterGroup): void {
    this.#parked.remove(group);
    group.parkedAt = undefined;
    if (this.first === undefined) this.#schedule();
  }

  #addOther(waiter: Waiter): void {
    this.#others ??= new Set();
    this.#others.add(waiter);
  }

  /** Drops an empty set: V8 keeps the contents of a Set that often changes alive for long. */
  #removeOther(waiter: Waiter): void {
    if (this.#others?.delete(waiter) && this.#others.size === 0) this.#others = undefined;
  }

  /** Keeps the timer in step: it ends the current delay, if groups are parked here. */
  #schedule(): void {
    const timerAtMs = this.first !== undefined && this.dueAtMs > -Infinity ? this.dueAtMs : Infinity;
    if (timerAtMs === this.timerAtMs) return;
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    this.timerAtMs = timerAtMs;
    if (timerAtMs === Infinity) return;
    this.#cancelTimer = this.#clock.startTimer(Math.max(0, timerAtMs - this.#clock.monotonicMs()), this.#onDue);
  }
}

/** Whether a call only reserves its resources: it neither tries, nor has locked or collected any. */
function isReservation({ state, collectedCount }: Waiter): boolean {
  return state === "queued" && collectedCount === 0;
}

/** The waiters of one process for the same set of resources. */
export class WaiterGroup {
  /** Identifies the set of resources. */
  readonly key: string;
  readonly waiters: Heap<Waiter> = new Heap();
  /** The resource at which the group is parked, and its position in the heap there. */
  parkedAt: ResourceQueue | undefined;
  position = 0;

  /** @param key identifies the set of resources */
  constructor(key: string) {
    this.key = key;
  }

  /** The first waiter, if any. Only it can be next to try. */
  get head(): Waiter | undefined {
    return this.waiters.first;
  }

  /** The order of the first waiter. */
  get order(): number {
    return this.head?.order ?? Infinity;
  }
}

/** What a {@link Heap} sorts by its order. It notes the position there. */
interface Member {
  readonly order: number;
  position: number;
}

/** A binary heap: the oldest member comes first, and adding and removing one costs O(log n). */
class Heap<M extends Member> {
  readonly members: M[] = [];

  /** The oldest member. */
  get first(): M | undefined {
    return this.members[0];
  }

  /** Adds a member. */
  add(member: M): void {
    this.#put(member, this.members.length);
    this.#rise(member);
  }

  /** Removes a member. Its order must be that with which it was added. */
  remove(member: M): void {
    const last = this.members.pop() as M;
    if (last === member) return;
    this.#put(last, member.position);
    this.#rise(last);
    this.#sink(last);
  }

  #rise(member: M): void {
    while (member.position > 0) {
      const { position } = member;
      const above = this.members[(position - 1) >> 1] as M;
      if (above.order < member.order) return;
      this.#put(member, above.position);
      this.#put(above, position);
    }
  }

  #sink(member: M): void {
    for (;;) {
      const { position } = member;
      const left = this.members[2 * position + 1];
      const right = this.members[2 * position + 2];
      const below = right && left && right.order < left.order ? right : left;
      if (below === undefined || below.order > member.order) return;
      this.#put(member, below.position);
      this.#put(below, position);
    }
  }

  #put(member: M, position: number): void {
    member.position = position;
    this.members[position] = member;
  }
}
