/*
 * Waiting decides only *when* an attempt is made, never whether it is granted. The rest of core imports only this file
 * of the folder: the acquire loop enqueues a call, waits until its next attempt is worth making, and reports the
 * result.
 */
import { type AttemptFailed, type AttemptTerms, retryAfterMs } from "../attempt.ts";
import type { Claim } from "../claim.ts";
import type { RedlockContext } from "../context.ts";
import { failureDetails, type LockAction, QueueFullError } from "../errors.ts";
import type { Settings } from "../options.ts";
import { Pause, retryDelay } from "../pause.ts";
import type { ReleaseHints } from "../release-notifier.ts";
import { noVotes, type Tally, verdict } from "../votes.ts";
import { ReleaseNotifications } from "./release-notifications.ts";
import { ResourceQueue, servedMax, Waiter, WaiterGroup } from "./resource-queue.ts";

export type { Waiter } from "./resource-queue.ts";

/** The maximum number of consecutive hand-overs in this process before the lock is really released. */
const handOversMax = 16;

/** The maximum duration of consecutive hand-overs, in milliseconds. */
const handingOverMaxMs = 50;

/** How long to wait for a notification after another process was named, in milliseconds, before trying anyway. */
const missedNotificationMs = 200;

/**
 * The same after a lock on several resources. Shorter, as the nodes do not report for which of the resources they named
 * another process.
 */
const missedNotificationOfSeveralMs = 40;

/** How long this process keeps watching a resource after it last held or wanted it, in milliseconds. */
const listenMs = 1000;

/** How many later calls may pass a waiter for several resources before free ones are reserved for it. */
const passedMax = servedMax;

/** A waiter for several resources collects them one by one after this many denials and this many milliseconds. */
const deniedMax = 4;
const deniedMaxMs = 400;

/**
 * How long a waiter may reserve or collect resources while it lacks others, in milliseconds: initially, and at most.
 */
const keepMs = 250;
const keepMaxMs = 2000;

/** A Map is replaced after this many deletions more than it has entries. */
const forgottenMax = 32;

/** How many attempts may start before pending input is handled. */
const attemptsInARow = 32;

/**
 * The maximum number of failures that back-off counts in a process without notifications, so that it misses few
 * releases.
 */
const unnotifiedFailuresMax = 2;

/**
 * The queues of one `Redlock`: the calls of this process that want or hold the same resources.
 *
 * Each resource is served first come, first served. Only the first eligible waiter sends requests to the nodes. A
 * waiter that is blocked on one resource does not keep others from its remaining resources (W1): later waiters pass it,
 * a bounded number of times. After that, this process reserves free resources for it. If other processes block it, it
 * collects its resources one by one in sorted order, under a separate claim that its last attempt takes over (W2). It
 * reserves and collects for a bounded time.
 */
export class LocalQueues {
  readonly #context: RedlockContext;
  readonly #maxWaiters: number;
  /**
   * The queue of each resource in use; or the only call that uses it, as most resources are not wanted by two at a time.
   *
   * V8 links each table of a Map to its successor, so that an old table keeps all later ones and their contents alive
   * until the next full garbage collection. A Map with many deletions is therefore replaced.
   */
  #resources = new Map<string, ResourceQueue | Waiter>();
  #forgotten = 0;
  readonly #groups = new Map<string, WaiterGroup>();
  #callsUnderWay = 0;
  #calls = 0;
  #attemptsStarted = 0;
  #isClosed = false;
  /** The only waiter that may collect, as two could block each other. */
  #collector: Waiter | undefined;
  /** One function for all queues: one made beside a waiter would keep it, and so all earlier ones. */
  readonly #onDue = (due: readonly ResourceQueue[]): void => this.#serve(due);

  /**
   * @param context the shared state of the `Redlock`
   * @param maxWaiters the maximum number of calls in progress
   */
  constructor(context: RedlockContext, maxWaiters: number) {
    this.#context = context;
    this.#maxWaiters = maxWaiters;
  }

  /** Says which of its resources a lock of this process keeps a call from, for how long it has, and under which label. */
  heldHere({ resources, isShared }: Pick<Waiter, "resources" | "isShared">): string | undefined {
    for (const resource of resources) {
      const user = this.#resources.get(resource);
      const holder = user instanceof Waiter ? user : user?.holder;
      if (holder?.state !== "holding" || (holder.isShared && isShared)) continue;
      const heldMs = Math.round(this.#context.clock.monotonicMs() - holder.heldSinceMs);
      const { label } = holder.settings;
      return `this process has held ${resource} for ${heldMs} ms${label === undefined ? "" : `, as ${label}`}`;
    }
    return undefined;
  }

  /** Ends all waits and stops watching. The waiting calls then call {@link leave}. */
  close(): void {
    this.#isClosed = true;
    for (const user of this.#resources.values()) if (user instanceof ResourceQueue) user.notifications?.stop();
    for (const { waiters } of this.#groups.values()) for (const waiter of waiters.members) waiter.pause?.wake();
  }

  /** Whether no call is queued and no lock is held. */
  get isEmpty(): boolean {
    return this.#callsUnderWay === 0 && this.#resources.size === 0 && this.#groups.size === 0;
  }

  /**
   * Adds a call. If it may try immediately, its state is `attempting`; otherwise {@link LocalQueues.next} waits for
   * that.
   *
   * @param mayWait false for a call that makes one attempt, even if others are waiting
   * @param action names the call in errors
   * @throws {QueueFullError} when `maxWaiters` calls are in progress
   */
  enqueue(resources: readonly string[], settings: Settings, mayWait: boolean, action: LockAction = "lock"): Waiter {
    if (this.#callsUnderWay >= this.#maxWaiters) {
      const operation = { resources, nodes: this.#context.nodes, quorum: settings.quorum };
      const remark = `${this.#callsUnderWay} calls are in progress, as many as maxWaiters`;
      throw new QueueFullError(...failureDetails(action, operation, noVotes, remark));
    }
    this.#callsUnderWay += 1;
    this.#calls += 1;
    const waiter = new Waiter(resources, settings, this.#calls);
    if (!mayWait || this.#useAlone(waiter)) return waiter;
    this.#join(waiter);
    waiter.state = "queued";
    const blocker = this.#blockerOf(waiter);
    if (blocker === undefined) this.#startAttempt(waiter);
    else this.#enterGroup(waiter);
    return waiter;
  }

  /**
   * Waits until the next attempt is worth making, `deadlineMs` passes, the call's signal aborts, or the queues are
   * closed.
   */
  async next(waiter: Waiter, deadlineMs: number): Promise<void> {
    const { clock } = this.#context;
    const { signal } = waiter.settings;
    while (waiter.state === "queued") {
      const nowMs = clock.monotonicMs();
      if (nowMs >= deadlineMs || signal?.aborted || this.#isClosed) return;
      const giveUpAtMs = Math.min(waiter.keepUntilMs, waiter.collectedUntilMs);
      if (nowMs >= giveUpAtMs) {
        this.#yieldResources(waiter);
        this.#serve(waiter.queues); // which may start its next attempt
        continue;
      }
      waiter.pause ??= new Pause(clock);
      await waiter.pause.wait(Math.min(deadlineMs, giveUpAtMs) - nowMs, signal);
    }
  }

  /** Starts an attempt and returns its terms. Later notifications count towards the next attempt. */
  begin(waiter: Waiter): AttemptTerms {
    const { resources, settings, wanted, offer } = waiter;
    waiter.attempts += 1;
    let waiterName: string | undefined;
    for (const queue of wanted) {
      queue.beginAttempt();
      if (queue.notifications !== undefined) waiterName = this.#context.waiterName;
    }
    return {
      resources,
      wanted: wanted.length < waiter.queues.length ? Object.freeze(wanted.map(({ resource }) => resource)) : resources,
      settings,
      predecessor: offer?.claim ?? waiter.collected,
      waiter: waiterName,
    };
  }

  /** Requeues a waiter whose attempt failed. The next attempt is due after a back-off or on a notification. */
  failed(waiter: Waiter, failure: AttemptFailed): void {
    if (waiter.queues.length === 0) this.#join(waiter);
    this.#declineOffer(waiter);
    const { wanted } = waiter;
    const blocked = this.#blockedBy(waiter, failure);
    const nowMs = this.#context.clock.monotonicMs();
    const leftMs = retryAfterMs(failure);
    const voteWasSplit = failure.votes.some((vote) => vote?.kind === "granted");
    if (failure.outcome === "held") {
      waiter.denials += 1;
      waiter.deniedSinceMs = Math.min(waiter.deniedSinceMs, nowMs);
      const { retryDelayMaxMs } = waiter.settings;
      for (const queue of blocked) {
        const notifications = this.#listen(queue, failure.tookMs, retryDelayMaxMs);
        if (leftMs !== undefined && !voteWasSplit) notifications.denied(nowMs + leftMs, retryDelayMaxMs);
      }
    }
    const failures = this.#failuresFor(waiter, failure.outcome === "held" && !voteWasSplit, blocked);
    const delayMs = retryDelay(waiter.settings, failures, leftMs);
    const dueAtMs = nowMs + (voteWasSplit ? delayMs : Math.min(delayMs, pollDelayMs(blocked)));
    waiter.state = "queued";
    for (const queue of blocked) queue.delayUntil(Math.min(dueAtMs, queue.hintedAtMs), waiter);
    const collected = wanted.slice(0, waiter.collectedCount);
    for (const queue of wanted.slice(waiter.collectedCount)) queue.vacate(waiter);
    if (collected.some((queue) => blocked.includes(queue))) this.#yieldResources(waiter); // a collected claim is lost
    this.#enterGroup(waiter);
    this.#serve(waiter.queues);
  }

  /**
   * Records that a waiter's attempt was won.
   *
   * @returns whether the attempt covered all the waiter's resources; if not, the waiter continues to collect
   */
  won(waiter: Waiter, claim: Claim, nowMs: number): boolean {
    const { queues, offer, collectedCount } = waiter;
    if (offer !== undefined) {
      for (const queue of waiter.wanted) queue.vacate(offer.holder);
      waiter.offer = undefined;
      offer.settle(true);
    }
    if (waiter.isCollecting && collectedCount + 1 < queues.length) {
      waiter.collected = claim;
      waiter.collectedCount += 1;
      waiter.collectedUntilMs = nowMs + waiter.settings.ttlMs / 2; // it must not expire while the waiter keeps it
      waiter.state = "queued";
      this.#enterGroup(waiter);
      this.#serve(queues);
      return false;
    }
    this.#callsUnderWay -= 1;
    waiter.state = "holding";
    waiter.heldSinceMs = nowMs;
    waiter.handingOverSinceMs ??= nowMs;
    if (this.#useAlone(waiter)) return true;
    if (queues.length === 0) this.#join(waiter);
    waiter.collected = undefined;
    waiter.keepUntilMs = Infinity;
    if (this.#collector === waiter) this.#collector = undefined;
    for (const queue of waiter.queues) queue.locked(waiter);
    if (waiter.group !== undefined) this.#leaveGroup(waiter, waiter.group);
    if (waiter.isShared) this.#serve(waiter.queues); // others may join
    return true;
  }

  /**
   * Offers a lock that is being released to the next waiter of this process, if that waiter wants exactly the same
   * resources. A hand-over takes one round trip instead of two. Consecutive hand-overs are limited, so that other
   * processes get the lock as well.
   *
   * @returns whether the waiter took over the lock; undefined if there is no such waiter
   */
  handOver(waiter: Waiter, claim: Claim): Promise<boolean> | undefined {
    const next = waiter.isShared ? undefined : this.#successorOf(waiter);
    if (next === undefined || waiter.handOvers === handOversMax) return undefined;
    // Readers of other processes learn of their turn by a release only.
    if (next.isShared && waiter.queues.some(({ notifications }) => notifications !== undefined)) return undefined;
    const sinceMs = waiter.handingOverSinceMs ?? 0;
    if (this.#context.clock.monotonicMs() - sinceMs >= handingOverMaxMs) return undefined;
    next.handOvers = waiter.handOvers + 1;
    next.handingOverSinceMs = sinceMs;
    return new Promise((settle) => {
      next.offer = { claim, holder: waiter, settle };
      if (next.group) next.group.parkedAt?.unpark(next.group);
      this.#startAttempt(next);
    });
  }

  /**
   * Returns the hints for the release of a lock: the name of this process, if it keeps waiting for it. Sent for writers
   * only: nodes enter this waiter as a writer.
   */
  releaseHints(waiter: Waiter): ReleaseHints | undefined {
    const next = this.#successorOf(waiter);
    if (waiter.isShared) this.#serve(waiter.queues); // readers that were behind a group that is parked elsewhere now
    return next?.isShared === false ? { waiter: this.#context.waiterName } : undefined;
  }

  /**
   * Removes a call that has given up, or whose lock has ended.
   *
   * @param releaseVotes the replies to the release, which may name another process
   */
  leave(waiter: Waiter, releaseVotes: Tally["votes"] = noVotes): void {
    const { state } = waiter;
    if (state === "left") return;
    waiter.state = "left";
    if (state !== "holding") this.#callsUnderWay -= 1;
    const { waiterName } = this.#context;
    let isAnotherNamed = false;
    for (const vote of releaseVotes) isAnotherNamed ||= (vote?.next ?? waiterName) !== waiterName;
    if (waiter.queues.length === 0) {
      if (!isAnotherNamed) {
        for (const resource of waiter.resources) if (this.#resources.get(resource) === waiter) this.#forget(resource);
        return;
      }
      this.#join(waiter); // so that the resources are left to the one that was named
    }
    const { queues, group } = waiter;
    if (state === "holding") this.#endLock(waiter, isAnotherNamed);
    else {
      this.#declineOffer(waiter);
      this.#yieldResources(waiter);
      for (const queue of queues) queue.vacate(waiter);
      if (group !== undefined) this.#leaveGroup(waiter, group);
    }
    this.#serve(queues);
    for (const queue of queues) this.#dropUser(queue);
    waiter.queues = []; // a queue may still know it as the reason of its delay
  }

  /** Makes the resources of a call refer to it, unless other calls use any of them. Returns whether they do. */
  #useAlone(waiter: Waiter): boolean {
    for (const resource of waiter.resources) {
      const user = this.#resources.get(resource);
      if (user !== undefined) return user === waiter;
    }
    for (const resource of waiter.resources) this.#resources.set(resource, waiter);
    return true;
  }

  /** Adds a call to the queues of its resources, and first the calls that have used any of them alone. */
  #join(waiter: Waiter): void {
    const queues: ResourceQueue[] = [];
    for (const resource of waiter.resources) {
      const user = this.#resources.get(resource);
      if (user instanceof Waiter && user !== waiter) this.#join(user);
      let queue = this.#resources.get(resource);
      if (!(queue instanceof ResourceQueue)) {
        queue = new ResourceQueue(resource, this.#context.clock, this.#onDue);
        if (user === waiter) queue.use(waiter);
        this.#resources.set(resource, queue);
      } else if (queue.users === 0) {
        // The queue was kept only for its notifications, which may have named another process.
        queue.cancelForget?.();
        queue.delayUntil(this.#momentAfter(queue.notifications?.deferMs ?? 0, waiter.settings.retryDelayMaxMs));
      }
      queue.users += 1;
      queues.push(queue);
    }
    waiter.queues = queues;
  }

  #forget(resource: string): void {
    this.#resources.delete(resource);
    this.#forgotten += 1;
    if (this.#forgotten <= this.#resources.size + forgottenMax) return;
    this.#resources = new Map(this.#resources);
    this.#forgotten = 0;
  }

  /**
   * Drops a queue without users. If other processes want the resource, drops it later, in case it is soon wanted again.
   */
  #dropUser(queue: ResourceQueue): void {
    queue.users -= 1;
    if (queue.users > 0) return;
    const { resource, notifications } = queue;
    const forget = () => {
      notifications?.stop();
      this.#forget(resource);
    };
    if (notifications === undefined) forget();
    else queue.cancelForget = this.#context.clock.startTimer(listenMs, forget, { background: true });
  }

  /** Adds a blocked waiter to the group for its resources. If it is the first there, parks the group. */
  #enterGroup(waiter: Waiter): void {
    if (waiter.group === undefined) {
      const key = JSON.stringify([waiter.isShared, waiter.resources]);
      const group = this.#groups.get(key) ?? new WaiterGroup(key);
      this.#groups.set(key, group);
      if (waiter.order < group.order) group.parkedAt?.unpark(group);
      group.waiters.add(waiter);
      waiter.group = group;
    }
    if (waiter.group.head === waiter) this.#tryOrPark(waiter.group);
  }

  #leaveGroup(waiter: Waiter, group: WaiterGroup): void {
    const wasHead = group.head === waiter;
    if (wasHead) group.parkedAt?.unpark(group);
    group.waiters.remove(waiter);
    waiter.group = undefined;
    if (wasHead) this.#tryOrPark(group);
  }

  /** Starts an attempt of a group's first waiter, or parks the group at a resource that blocks it. */
  #tryOrPark(group: WaiterGroup): void {
    for (let { head } = group; head?.state === "queued"; { head } = group) {
      const blocker = this.#blockerOf(head);
      const { order, wanted, collectedCount } = head; // it may have begun to collect
      const isEarlier = ({ first }: ResourceQueue) => first !== undefined && first.order < order;
      const contested = blocker ?? wanted.slice(collectedCount).find(isEarlier);
      contested?.park(group);
      if (contested !== undefined) {
        if (blocker === undefined) this.#serve([contested]); // an older waiter goes first if it is eligible
        return;
      }
      this.#startAttempt(head);
      if (wanted.some((queue) => queue.holder === head)) return;
      group.waiters.remove(head); // it joins others, and so may the next
      head.group = undefined;
    }
    if (group.head === undefined) this.#groups.delete(group.key);
  }

  /**
   * Serves the groups that are parked at these resources, oldest first, until no resource is open or no group is left.
   */
  #serve(queues: readonly ResourceQueue[]): void {
    for (;;) {
      let oldest: WaiterGroup | undefined;
      for (const queue of queues) {
        const { first } = queue;
        if (first !== undefined && first.order < (oldest?.order ?? Infinity) && queue.isOpenTo(first.head as Waiter))
          oldest = first;
      }
      if (oldest === undefined) return;
      oldest.parkedAt?.unpark(oldest);
      this.#tryOrPark(oldest);
    }
  }

  #startAttempt(waiter: Waiter): void {
    waiter.state = "attempting";
    for (const queue of waiter.wanted) queue.use(waiter);
    this.#attemptsStarted += 1;
    // If nodes reply without I/O, a long queue would otherwise starve the event loop.
    if (this.#attemptsStarted % attemptsInARow === 0) this.#context.clock.afterPendingIo(() => waiter.pause?.wake());
    else waiter.pause?.wake();
  }

  /**
   * Returns a resource that blocks a waiter, if any. Reserves the open resources for a waiter that was passed too
   * often.
   *
   * @param ending the holder of a lock that is about to end, which does not count as blocking
   */
  #blockerOf(waiter: Waiter, ending?: Waiter): ResourceQueue | undefined {
    if (waiter.queues.length > 1) this.#escalate(waiter, ending === undefined);
    const { wanted, collectedCount } = waiter;
    let blocker: ResourceQueue | undefined;
    for (let index = collectedCount; index < wanted.length; index++) {
      const queue = wanted[index] as ResourceQueue;
      if (queue.isOpenTo(waiter)) {
        if (waiter.isReserving && !(waiter.isShared && queue.isSharedWith(waiter))) queue.use(waiter);
      } else if (ending === undefined || queue.holder !== ending) {
        blocker ??= queue;
        if (!waiter.isReserving) return blocker;
      }
    }
    return blocker;
  }

  /**
   * Decides whether a waiter starts to reserve or collect resources, and for how long.
   *
   * @param mayCollect false where its group is parked at a resource, which it might no longer want
   */
  #escalate(waiter: Waiter, mayCollect: boolean): void {
    if (!waiter.isReserving && wasPassedTooOften(waiter)) {
      waiter.isReserving = true;
      this.#keepForAWhile(waiter);
    }
    if (mayCollect && !waiter.isCollecting && this.#collector === undefined && this.#wasDeniedTooLong(waiter)) {
      waiter.isCollecting = true;
      this.#collector = waiter;
      this.#keepForAWhile(waiter);
    }
  }

  /** Limits how long a waiter reserves or collects: longer each time. */
  #keepForAWhile(waiter: Waiter): void {
    const limitMs = Math.min(keepMs * 2 ** waiter.yieldCount, keepMaxMs);
    waiter.keepUntilMs = Math.min(waiter.keepUntilMs, this.#context.clock.monotonicMs() + limitMs);
    waiter.pause?.wake(); // so that next() applies the new limit
  }

  #wasDeniedTooLong({ queues, overtakenSince, denials, deniedSinceMs }: Waiter): boolean {
    if (denials < deniedMax || this.#context.clock.monotonicMs() - deniedSinceMs < deniedMaxMs) return false;
    return queues.every((queue) => queue.releasedSince >= overtakenSince || queue.passedBy(overtakenSince) > 0);
  }

  /** Returns the waiter that is next for all resources of a lock that is about to end, if it wants exactly those. */
  #successorOf(waiter: Waiter): Waiter | undefined {
    let next: Waiter | undefined;
    for (const queue of waiter.queues) {
      const first = this.#firstAfter(queue, waiter);
      if (first && (next === undefined || first.order < next.order)) next = first;
      if (queue.isUsedByOthers) return undefined;
    }
    const wanted = next?.wanted;
    if (wanted?.length !== waiter.queues.length) return undefined;
    return wanted.every((queue, index) => queue === waiter.queues[index]) ? next : undefined;
  }

  /** Returns the oldest waiter parked at a resource that would be eligible once the lock on it has ended. */
  #firstAfter(queue: ResourceQueue, ending: Waiter): Waiter | undefined {
    for (let group = queue.first; group !== undefined; group = queue.first) {
      const head = group.head as Waiter;
      const blocker = this.#blockerOf(head, ending);
      if (blocker === queue) return undefined;
      if (blocker === undefined || head.isReserving) return head;
      queue.unpark(group);
      blocker.park(group);
    }
    return undefined;
  }

  #endLock(waiter: Waiter, isAnotherNamed: boolean): void {
    const { retryDelayMaxMs } = waiter.settings;
    const missedMs = waiter.queues.length > 1 ? missedNotificationOfSeveralMs : missedNotificationMs;
    for (const queue of waiter.queues) {
      if (isAnotherNamed) this.#listen(queue, 0, retryDelayMaxMs).deferToOthers();
      if (!queue.vacate(waiter)) continue;
      queue.notifications?.released();
      // Do not hold readers back: they may join the named one.
      const leaveToNamed = isAnotherNamed && queue.first?.head?.isShared !== true;
      const deferMs = leaveToNamed ? missedMs : (queue.notifications?.deferMs ?? 0);
      queue.delayUntil(this.#momentAfter(deferMs, retryDelayMaxMs));
    }
  }

  /** Returns when a delay ends, on the monotonic clock. No resource is left to others for longer than `retryDelayMaxMs`. */
  #momentAfter(delayMs: number, retryDelayMaxMs: number): number {
    return delayMs > 0 ? this.#context.clock.monotonicMs() + Math.min(delayMs, retryDelayMaxMs) : -Infinity;
  }

  /** Watches a resource that another process wants as well. */
  #listen(queue: ResourceQueue, attemptMs: number, retryDelayMaxMs: number): ReleaseNotifications {
    queue.notifications ??= new ReleaseNotifications(this.#context, queue.resource, (delayMs) => {
      queue.releasedSince = this.#calls;
      if (delayMs === undefined) return;
      queue.hint(this.#momentAfter(delayMs, retryDelayMaxMs));
      this.#serve([queue]);
    });
    if (!this.#isClosed) queue.notifications.watch(attemptMs);
    return queue.notifications;
  }

  /**
   * Returns the resources that blocked a failed attempt: those without a possible quorum; if there are none, the
   * uncollected ones that any node denies.
   */
  #blockedBy(waiter: Waiter, { outcome, votes }: AttemptFailed): readonly ResourceQueue[] {
    const { wanted, collectedCount, attempts, settings } = waiter;
    if (outcome !== "held" || wanted.length === 1) return wanted;
    const { yes, no } = verdict;
    const verdictsOn = ({ resource }: ResourceQueue): number[] =>
      votes.map((vote) => (vote?.heldResources?.includes(resource) ? no : yes));
    // A few nodes may deny what a quorum would grant, such as for a claim that is being undone.
    const lost = wanted.filter((queue) => !settings.quorum.isReachedBy(verdictsOn(queue), yes));
    if (lost.length > 0) return lost;
    const uncollected = wanted.slice(collectedCount);
    const named = uncollected.filter((queue) => verdictsOn(queue).includes(no));
    if (named.length > 0) return named;
    // No node names a held resource. Assume each in turn, so that none is withheld from others longer than one
    // back-off.
    return [uncollected[attempts % uncollected.length] as ResourceQueue];
  }

  /**
   * Returns the number of failures that determines the back-off. A process that nodes notify need not poll often. But
   * no notification follows a split vote, and a process without notifications must not miss too many releases.
   */
  #failuresFor({ attempts }: Waiter, wasDenied: boolean, blocked: readonly ResourceQueue[]): number {
    if (!wasDenied) return attempts;
    const isNotified = blocked.some(({ notifications }) => notifications?.isWatching);
    return isNotified ? Infinity : Math.min(attempts, unnotifiedFailuresMax);
  }

  #declineOffer(waiter: Waiter): void {
    if (waiter.offer === undefined) return;
    const { settle } = waiter.offer;
    waiter.offer = undefined;
    settle(false);
    waiter.handOvers = 0;
    waiter.handingOverSinceMs = undefined;
  }

  /**
   * Gives up a waiter's reserved and collected resources. It may reserve again once it was passed too often again, and
   * collect once each of them was released again; if it had collected, once it was denied too long again as well (W2).
   */
  #yieldResources(waiter: Waiter): void {
    if (waiter.keepUntilMs === Infinity) return;
    if (this.#collector === waiter) {
      this.#collector = undefined;
      waiter.denials = 0;
      waiter.deniedSinceMs = Infinity;
    }
    waiter.collected?.withdraw({});
    waiter.collected = undefined;
    waiter.collectedCount = 0;
    waiter.collectedUntilMs = Infinity;
    waiter.isReserving = false;
    waiter.isCollecting = false;
    waiter.keepUntilMs = Infinity;
    waiter.yieldCount += 1;
    waiter.overtakenSince = this.#calls;
    for (const queue of waiter.queues) queue.vacate(waiter);
  }
}

/** Returns a random delay that adapts to how often the resources change hands unannounced. */
function pollDelayMs(blocked: readonly ResourceQueue[]): number {
  let limitMs = Infinity;
  for (const { notifications } of blocked) limitMs = Math.min(limitMs, notifications?.pollLimitMs ?? Infinity);
  return 1 + Math.random() * limitMs;
}

/** Whether later calls got each of a waiter's resources, and together more often than allowed. */
function wasPassedTooOften({ queues, overtakenSince }: Waiter): boolean {
  let passed = 0;
  for (const queue of queues) {
    const passedHere = queue.passedBy(overtakenSince);
    if (passedHere === 0) return false;
    passed += passedHere;
  }
  return passed >= passedMax;
}
