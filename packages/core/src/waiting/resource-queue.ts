import type { Claim } from "../claim.ts";
import type { Clock } from "../clock.ts";
import type { Settings } from "../options.ts";
import type { Pause } from "../pause.ts";
import type { ReleaseNotifications } from "./release-notifications.ts";

/** How many of the latest locks on it a resource remembers. */
export const servedMax = 8;

/**
 * Where a call stands: it waits for its turn; it has its turn, and asks the nodes; it holds the lock; or it has given up, or
 * its lock has ended.
 */
export type WaiterState = "queued" | "attempting" | "holding" | "left";

/** A lock of this process that a waiter may take over. */
export interface Offer {
  readonly claim: Claim;
  readonly holder: Waiter;
  /** Tells the holder whether it was taken. */
  settle(isTaken: boolean): void;
}

/** A call to acquire while it waits, and then the lock that it leads to, until that ends. Only `LocalQueues` changes it. */
export class Waiter {
  readonly resources: readonly string[];
  readonly settings: Settings;
  /** When it came: the lower, the earlier. */
  readonly order: number;
  state: WaiterState = "attempting";
  /** How many attempts it has made. */
  attempts = 0;
  /** Of all its resources, in their order; none for a call that does not wait, until it holds. */
  queues: readonly ResourceQueue[] = [];
  /** The waiters for the same resources, once it had to queue, and its neighbours among them. */
  group: WaiterGroup | undefined;
  ahead: Waiter | undefined;
  behind: Waiter | undefined;
  pause: Pause | undefined;
  offer: Offer | undefined;
  /** How many locks in a row were handed over until this one, and since when. */
  handOvers = 0;
  handingOverSinceMs: number | undefined;
  /** A lock of a later call than this one passes it: itself, or the last call when it gave back what it had collected. */
  passedSince: number;
  /** How many of its attempts were denied since, and when the first was. */
  denials = 0;
  deniedSinceMs: number = Infinity;
  /** Whether free resources are kept for it in this process. */
  isReserving = false;
  /** Whether it takes its resources one by one, with claims on the nodes; the last such claim, and how many it covers. */
  isCollecting = false;
  collected: Claim | undefined;
  collectedCount = 0;
  /** When it gives back what it keeps from others, and how often it has. */
  keepUntilMs: number = Infinity;
  timesGivenBack = 0;

  constructor(resources: readonly string[], settings: Settings, order: number) {
    this.resources = resources;
    this.settings = settings;
    this.order = order;
    this.passedSince = order;
  }

  /** What its next attempt is for: all, or one more than it has collected. */
  get wanted(): readonly ResourceQueue[] {
    return this.isCollecting ? this.queues.slice(0, this.collectedCount + 1) : this.queues;
  }
}

/**
 * What one process knows of a resource: which of its calls has it now, and which waiters it blocks.
 *
 * A group of waiters is parked at one resource that blocks it, and is looked at again when that one opens. So a resource
 * that opens costs O(log n) for each group that is looked at, however many waiters there are.
 */
export class ResourceQueue {
  readonly resource: string;
  /** The call that tries to lock the resource, holds it, or collects it. */
  holder: Waiter | undefined;
  /** The latest calls of this process, by their order, that had a lock on the resource while other calls wanted it. */
  readonly #served: number[] = [];
  #displaced: Waiter | undefined;
  /** The last call that had come when another process was last known to release the resource. */
  releasedSince: number = -Infinity;
  /** How many calls refer to this object. */
  users = 0;
  /** When the next attempt is worth making, on the monotonic clock. */
  dueAtMs: number = -Infinity;
  /** What nodes tell of releases by other processes, once another process was in the way. */
  notifications: ReleaseNotifications | undefined;
  /** Ends the time for which the object is kept after its last user. */
  cancelForget: (() => void) | undefined;
  readonly #clock: Clock;
  readonly #onDue: () => void;
  /** The groups that are parked here: a binary heap, the oldest waiter first. */
  readonly #parked: WaiterGroup[] = [];
  #timerAtMs = Infinity;
  #cancelTimer: (() => void) | undefined;

  /**
   * @param resource its name
   * @param clock what measures delays
   * @param onDue called when a delay ends for which waiters are parked here
   */
  constructor(resource: string, clock: Clock, onDue: (queue: ResourceQueue) => void) {
    this.resource = resource;
    this.#clock = clock;
    this.#onDue = () => {
      this.#timerAtMs = Infinity;
      if (this.dueAtMs < clock.monotonicMs() + 1) this.dueAtMs = -Infinity;
      onDue(this);
    };
  }

  /** The call whose attempt was under way when another one of this process got the lock, while that attempt goes on. */
  get attempting(): Waiter | undefined {
    return this.#displaced?.state === "attempting" ? this.#displaced : undefined;
  }

  /** A call of this process has locked the resource. */
  locked(waiter: Waiter): void {
    if (this.holder !== undefined && this.holder !== waiter) this.#displaced = this.holder;
    this.holder = waiter;
    this.dueAtMs = -Infinity;
    this.schedule();
    this.notifications?.locked();
    if (this.users === 1) return;
    this.#served.push(waiter.order);
    if (this.#served.length > servedMax) this.#served.shift();
  }

  /** How many later calls have had the resource since that one came: 8 at the most. */
  passedBy(since: number): number {
    let count = 0;
    for (const order of this.#served) if (order > since) count += 1;
    return count;
  }

  /** Whether a call of this process may try to lock the resource now. While groups are parked here, the timer ends delays. */
  get isOpen(): boolean {
    return this.holder === undefined && this.isDue;
  }

  /** Whether no back-off goes on, and no other process is given time. */
  get isDue(): boolean {
    return this.dueAtMs === -Infinity || (this.#parked.length === 0 && this.dueAtMs <= this.#clock.monotonicMs());
  }

  /** The parked group whose first waiter is the oldest. */
  get first(): WaiterGroup | undefined {
    return this.#parked[0];
  }

  /** Parks a group here, and sees to it that it is looked at when the delay ends. */
  park(group: WaiterGroup): void {
    group.parkedAt = this;
    group.position = this.#parked.length;
    this.#parked.push(group);
    this.#rise(group);
    this.schedule();
  }

  /** Removes a group that is parked here. */
  unpark(group: WaiterGroup): void {
    const last = this.#parked.pop() as WaiterGroup;
    if (last !== group) {
      this.#put(last, group.position);
      this.#rise(last);
      this.#sink(last);
    }
    group.parkedAt = undefined;
    if (this.#parked.length === 0) this.schedule();
  }

  /** Starts the timer that ends the present delay, if groups are parked here for it. */
  schedule(): void {
    const timerAtMs = this.#parked.length > 0 && this.dueAtMs > -Infinity ? this.dueAtMs : Infinity;
    if (timerAtMs === this.#timerAtMs) return;
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    this.#timerAtMs = timerAtMs;
    if (timerAtMs === Infinity) return;
    this.#cancelTimer = this.#clock.startTimer(Math.max(0, timerAtMs - this.#clock.monotonicMs()), this.#onDue);
  }

  #rise(group: WaiterGroup): void {
    while (group.position > 0) {
      const above = this.#parked[(group.position - 1) >> 1] as WaiterGroup;
      if (above.order < group.order) return;
      this.#swap(above, group);
    }
  }

  #sink(group: WaiterGroup): void {
    for (;;) {
      const left = this.#parked[2 * group.position + 1];
      const right = this.#parked[2 * group.position + 2];
      const below = right && left && right.order < left.order ? right : left;
      if (below === undefined || below.order > group.order) return;
      this.#swap(group, below);
    }
  }

  #swap(above: WaiterGroup, below: WaiterGroup): void {
    const { position } = above;
    this.#put(above, below.position);
    this.#put(below, position);
  }

  #put(group: WaiterGroup, position: number): void {
    group.position = position;
    this.#parked[position] = group;
  }
}

/** The waiters of one process for the same set of resources, first come, first served: a linked list. */
export class WaiterGroup {
  /** Tells sets of resources apart. */
  readonly key: string;
  /** The first, if any: only it can be the next to try. */
  head: Waiter | undefined;
  #tail: Waiter | undefined;
  /** Where the group waits to be looked at again, and its position there. */
  parkedAt: ResourceQueue | undefined;
  position = 0;

  /** @param key tells sets of resources apart */
  constructor(key: string) {
    this.key = key;
  }

  /** When the first waiter came. */
  get order(): number {
    return this.head?.order ?? Infinity;
  }

  /** Adds a waiter: at the front, if it came before all others. */
  add(waiter: Waiter): void {
    const { head } = this;
    if (head === undefined) this.head = this.#tail = waiter;
    else if (waiter.order < head.order) {
      waiter.behind = head;
      head.ahead = waiter;
      this.head = waiter;
    } else {
      const tail = this.#tail as Waiter;
      waiter.ahead = tail;
      tail.behind = waiter;
      this.#tail = waiter;
    }
  }

  /** Removes a waiter of this group. */
  remove(waiter: Waiter): void {
    const { ahead, behind } = waiter;
    if (ahead) ahead.behind = behind;
    else this.head = behind;
    if (behind) behind.ahead = ahead;
    else this.#tail = ahead;
    waiter.ahead = undefined;
    waiter.behind = undefined;
  }
}
