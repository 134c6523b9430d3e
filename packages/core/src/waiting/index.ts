/*
 * Waiting decides only *when* a claim is tried, never whether it is granted. This file is the only door: core's acquire
 * loop enqueues a call, asks when its next attempt is worth making, and tells that it holds or has left.
 */
import { type AttemptFailed, type AttemptTerms, retryAfterMs } from "../attempt.ts";
import type { Claim } from "../claim.ts";
import type { RedlockContext } from "../context.ts";
import { failureDetails, QueueFullError } from "../errors.ts";
import type { Settings } from "../options.ts";
import { Pause, retryDelay } from "../pause.ts";
import { noVotes, type Tally } from "../quorum-call.ts";
import type { ReleaseHints } from "../release-notifier.ts";
import type { Vote } from "../replies.ts";
import { ReleaseNotifications } from "./release-notifications.ts";
import { ResourceQueue, servedMax, Waiter, WaiterGroup } from "./resource-queue.ts";

export { ConcurrencyLimit } from "./concurrency-limit.ts";
export type { Waiter } from "./resource-queue.ts";

/** How many locks in a row may be handed over in this process before other processes get their turn. */
const handOversMax = 16;

/** How long that may go on, in milliseconds. */
const handingOverMsMax = 50;

/** When to try although no notification says that it is this process's turn again, in milliseconds. */
const missedNotificationMs = 200;

/**
 * When to try after a lock on several resources, in milliseconds: the nodes do not say for which of them they named another
 * process.
 */
const missedNotificationOfSeveralMs = 40;

/** How long this process listens to releases after it has last held or wanted the resource, in milliseconds. */
const listenMs = 1000;

/** How many locks on its resources may go to later calls before free ones are kept for a waiter for several. */
const passedMax = servedMax;

/** When such a waiter collects its resources one by one on the nodes: after so many denials, and so many milliseconds. */
const deniedMax = 4;
const deniedMsMax = 400;

/** For how long a waiter keeps resources from others while it does not have all, in milliseconds: at first, and at the most. */
const keepMs = 250;
const keepMsMax = 2000;

/** How many deleted entries a Map may have, beside as many as it has others. */
const forgottenMax = 32;

/** How many waiters get their turn before input that has arrived is handled. */
const attemptsInARow = 32;

/** How far back-off grows for a process that nodes do not notify: it would miss its turns. */
const unnotifiedFailuresMax = 2;

/**
 * The queues of one `Redlock`: the calls of this process that want or hold the same resources.
 *
 * First come, first served for each resource. Only the first waiter that can go on asks the nodes. A waiter that one of its
 * resources blocks keeps nobody from the others (W1): later waiters pass it, a bounded number of times. Then free resources
 * are kept for it in this process; and where other processes are in its way, it collects its resources one by one, in
 * sorted order, under a claim of its own that its last attempt takes over (W2). It keeps them for a bounded time.
 */
export class LocalQueues {
  readonly #context: RedlockContext;
  readonly #maxWaiters: number;
  // V8 chains each table of a Map to the next one, so that one old table keeps all later ones, and all that was in them, until the
  // next full garbage collection. A Map from which much was deleted is therefore replaced.
  #queues = new Map<string, ResourceQueue>();
  #forgotten = 0;
  readonly #groups = new Map<string, WaiterGroup>();
  #callsUnderWay = 0;
  #calls = 0;
  #attemptsStarted = 0;
  #isClosed = false;
  /** The only waiter that collects: two could block each other. */
  #collector: Waiter | undefined;

  /**
   * @param context the nodes
   * @param maxWaiters how many calls may be under way
   */
  constructor(context: RedlockContext, maxWaiters: number) {
    this.#context = context;
    this.#maxWaiters = maxWaiters;
  }

  /** One of these resources that a lock of this process is on, if there is one. */
  heldHere(resources: readonly string[]): string | undefined {
    return resources.find((resource) => this.#queues.get(resource)?.holder?.state === "holding");
  }

  /** Ends all waits, and no longer listens to releases. The calls that wait leave by themselves. */
  close(): void {
    this.#isClosed = true;
    for (const { notifications } of this.#queues.values()) notifications?.stop();
    for (const group of this.#groups.values()) {
      for (let waiter = group.head; waiter !== undefined; waiter = waiter.behind) waiter.pause?.wake();
    }
  }

  /** Whether nothing is queued or held. */
  get isEmpty(): boolean {
    return this.#callsUnderWay === 0 && this.#queues.size === 0 && this.#groups.size === 0;
  }

  /**
   * Adds a call. If it is its turn, its state is `attempting`; otherwise {@link LocalQueues.next} waits for that.
   *
   * @param mayWait false for a call that makes one attempt, even if others wait
   * @throws {QueueFullError}
   */
  enqueue(resources: readonly string[], settings: Settings, mayWait: boolean): Waiter {
    if (this.#callsUnderWay >= this.#maxWaiters) {
      const operation = { resources, nodes: this.#context.nodes, quorum: settings.quorum };
      const remark = `${this.#callsUnderWay} calls are under way, as many as maxWaiters`;
      throw new QueueFullError(...failureDetails("lock", operation, noVotes, remark));
    }
    this.#callsUnderWay += 1;
    this.#calls += 1;
    const waiter = new Waiter(resources, settings, this.#calls);
    if (!mayWait) return waiter;
    this.#join(waiter);
    waiter.state = "queued";
    const blocker = this.#blockerOf(waiter);
    if (blocker === undefined) this.#startAttempt(waiter);
    else this.#enterGroup(waiter);
    return waiter;
  }

  /** Waits until the next attempt is worth making: until `deadlineMs` at the latest, or until the signal of the call aborts. */
  async next(waiter: Waiter, deadlineMs: number): Promise<void> {
    const { clock } = this.#context;
    const { signal } = waiter.settings;
    while (waiter.state === "queued") {
      const nowMs = clock.monotonicMs();
      if (nowMs >= deadlineMs || signal?.aborted || this.#isClosed) return;
      if (nowMs >= waiter.keepUntilMs) {
        this.#yieldResources(waiter); // which may have made it its turn
        continue;
      }
      waiter.pause ??= new Pause(clock);
      await waiter.pause.wait(Math.min(deadlineMs, waiter.keepUntilMs) - nowMs, signal);
    }
  }

  /** The waiter begins an attempt: notifications count towards the next one from now on. */
  begin(waiter: Waiter): AttemptTerms {
    const { resources, settings, wanted, offer } = waiter;
    waiter.attempts += 1;
    let waiterName: string | undefined;
    for (const queue of wanted) {
      if (queue.holder === waiter) queue.dueAtMs = Infinity;
      if (queue.notifications === undefined) continue;
      queue.notifications.beginAttempt();
      waiterName = this.#context.waiterName;
    }
    return {
      resources,
      wanted: wanted.length < waiter.queues.length ? Object.freeze(wanted.map(({ resource }) => resource)) : resources,
      settings,
      predecessor: offer?.claim ?? waiter.collected,
      waiter: waiterName,
    };
  }

  /** The attempt has failed: the next one is worth making after a back-off, or when a notification says so. */
  failed(waiter: Waiter, failure: AttemptFailed): void {
    this.#declineOffer(waiter);
    const { wanted } = waiter;
    const blocked = this.#blockedBy(waiter, failure);
    const nowMs = this.#context.clock.monotonicMs();
    const leftMs = retryAfterMs(failure);
    const wasSplit = failure.votes.some(isGranted);
    if (failure.outcome === "held") {
      waiter.denials += 1;
      waiter.deniedSinceMs = Math.min(waiter.deniedSinceMs, nowMs);
      const { retryDelayMaxMs } = waiter.settings;
      for (const queue of blocked) {
        const notifications = this.#listen(queue, failure.tookMs, retryDelayMaxMs);
        if (leftMs !== undefined && !wasSplit) notifications.denied(nowMs + leftMs, retryDelayMaxMs);
      }
    }
    const failures = this.#failuresFor(waiter, failure.outcome === "held" && !wasSplit, blocked);
    const delayMs = retryDelay(waiter.settings, failures, leftMs);
    const dueAtMs = nowMs + (wasSplit ? delayMs : Math.min(delayMs, pollDelayMs(blocked)));
    waiter.state = "queued";
    for (const queue of wanted) {
      if (blocked.includes(queue)) queue.dueAtMs = Math.min(queue.dueAtMs, dueAtMs);
      else if (queue.holder === waiter) queue.dueAtMs = -Infinity;
    }
    const collected = wanted.slice(0, waiter.collectedCount);
    for (const queue of wanted.slice(waiter.collectedCount)) vacate(queue, waiter);
    if (collected.some((queue) => blocked.includes(queue))) this.#yieldResources(waiter); // the nodes no longer have it
    this.#enterGroup(waiter);
    this.#serve(wanted);
  }

  /**
   * The attempt was won.
   *
   * @returns whether it was for all that the waiter wants: if not, it goes on collecting
   */
  won(waiter: Waiter, claim: Claim, nowMs: number): boolean {
    waiter.offer?.settle(true);
    waiter.offer = undefined;
    const { wanted } = waiter;
    if (wanted.length === waiter.queues.length || waiter.queues.length === 0) {
      this.#hold(waiter, nowMs);
      return true;
    }
    waiter.collected = claim;
    waiter.collectedCount = wanted.length;
    for (const queue of wanted) queue.dueAtMs = -Infinity;
    waiter.state = "queued";
    this.#enterGroup(waiter);
    return false;
  }

  /**
   * Offers a lock that its holder releases to the next waiter of this process, if that wants just the same. A hand-over takes
   * one round trip, where a release and another claim take two; but other processes do not get their turn meanwhile, so it
   * goes on for a bounded time only.
   *
   * @returns whether the lock was taken over; undefined if there is no waiter to offer it to
   */
  handOver(waiter: Waiter, claim: Claim): Promise<boolean> | undefined {
    const next = this.#successorOf(waiter);
    if (next === undefined || waiter.handOvers === handOversMax) return undefined;
    const sinceMs = waiter.handingOverSinceMs ?? 0;
    if (this.#context.clock.monotonicMs() - sinceMs >= handingOverMsMax) return undefined;
    next.handOvers = waiter.handOvers + 1;
    next.handingOverSinceMs = sinceMs;
    return new Promise((settle) => {
      next.offer = { claim, holder: waiter, settle };
      if (next.group) next.group.parkedAt?.unpark(next.group);
      this.#startAttempt(next);
    });
  }

  /** What the release of a lock tells the nodes of waiting. */
  releaseHints(waiter: Waiter): ReleaseHints | undefined {
    return this.#successorOf(waiter) && { waiter: this.#context.waiterName };
  }

  /**
   * The call has given up, or its lock has ended.
   *
   * @param releaseVotes what the nodes answered to the release: they may have named another process
   */
  leave(waiter: Waiter, releaseVotes: Tally["votes"] = noVotes): void {
    const { state, queues, group } = waiter;
    if (state === "left") return;
    waiter.state = "left";
    if (state === "holding") this.#endLock(waiter, releaseVotes);
    else {
      this.#callsUnderWay -= 1;
      this.#declineOffer(waiter);
      this.#yieldResources(waiter);
      for (const queue of queues) vacate(queue, waiter);
      if (group !== undefined) this.#leaveGroup(waiter, group);
    }
    this.#serve(queues);
    for (const queue of queues) this.#dropUser(queue);
  }

  #join(waiter: Waiter): void {
    waiter.queues = waiter.resources.map((resource) => {
      let queue = this.#queues.get(resource);
      if (queue === undefined) {
        queue = new ResourceQueue(resource, this.#context.clock, (due) => this.#serve([due]));
        this.#queues.set(resource, queue);
      } else if (queue.users === 0) {
        // Only notifications have kept it: they may say that it is another process's turn.
        queue.cancelForget?.();
        this.#deferTo(queue, queue.notifications?.deferMs ?? 0, waiter.settings);
      }
      queue.users += 1;
      return queue;
    });
  }

  /** Forgets a queue without users: later, if other processes want the resource, as it may soon be wanted here again. */
  #dropUser(queue: ResourceQueue): void {
    queue.users -= 1;
    if (queue.users > 0) return;
    const { resource, notifications } = queue;
    const forget = () => {
      notifications?.stop();
      this.#queues.delete(resource);
      this.#forgotten += 1;
      if (this.#forgotten > this.#queues.size + forgottenMax) {
        this.#queues = new Map(this.#queues);
        this.#forgotten = 0;
      }
    };
    if (notifications === undefined) forget();
    else queue.cancelForget = this.#context.clock.startTimer(listenMs, forget, { background: true });
  }

  /** Puts a waiter that is blocked into the group of its resources, and parks that if the waiter is the first in it. */
  #enterGroup(waiter: Waiter): void {
    if (waiter.group === undefined) {
      const key = JSON.stringify(waiter.resources);
      const group = this.#groups.get(key) ?? new WaiterGroup(key);
      this.#groups.set(key, group);
      if (waiter.order < group.order) group.parkedAt?.unpark(group);
      group.add(waiter);
      waiter.group = group;
    }
    if (waiter.group.head === waiter) this.#tryOrPark(waiter.group);
  }

  #leaveGroup(waiter: Waiter, group: WaiterGroup): void {
    const wasHead = group.head === waiter;
    if (wasHead) group.parkedAt?.unpark(group);
    group.remove(waiter);
    waiter.group = undefined;
    if (wasHead) this.#tryOrPark(group);
  }

  /** Gives the first waiter of a group its turn, or parks the group at a resource that blocks it. */
  #tryOrPark(group: WaiterGroup): void {
    const { head } = group;
    if (head === undefined) this.#groups.delete(group.key);
    else if (head.state === "queued") {
      const blocker = this.#blockerOf(head);
      const isEarlier = ({ first }: ResourceQueue) => first !== undefined && first.order < head.order;
      const contested = blocker ?? head.wanted.slice(head.collectedCount).find(isEarlier);
      contested?.park(group);
      if (contested === undefined) this.#startAttempt(head);
      else if (blocker === undefined) this.#serve([contested]); // an older waiter comes first, if it can go on
    }
  }

  /** Looks at the groups that are parked at these resources, the oldest first, until they are taken or nobody wants them. */
  #serve(queues: readonly ResourceQueue[]): void {
    for (;;) {
      let oldest: WaiterGroup | undefined;
      for (const queue of queues) {
        const { first } = queue;
        if (first !== undefined && first.order < (oldest?.order ?? Infinity) && queue.isOpen) oldest = first;
      }
      if (oldest === undefined) break;
      oldest.parkedAt?.unpark(oldest);
      this.#tryOrPark(oldest);
    }
    for (const queue of queues) queue.schedule();
  }

  #startAttempt(waiter: Waiter): void {
    waiter.state = "attempting";
    for (const queue of waiter.wanted) queue.holder = waiter;
    this.#attemptsStarted += 1;
    // Where nodes answer without I/O, a long queue would keep the process from everything else.
    if (this.#attemptsStarted % attemptsInARow === 0) this.#context.clock.afterPendingIo(() => waiter.pause?.wake());
    else waiter.pause?.wake();
  }

  /**
   * A resource that keeps a waiter from trying, if there is one. What is open meanwhile is kept for a waiter that was passed
   * too often.
   *
   * @param ending a lock that is about to end
   */
  #blockerOf(waiter: Waiter, ending?: Waiter): ResourceQueue | undefined {
    if (waiter.queues.length > 1) this.#escalate(waiter);
    const { wanted, collectedCount } = waiter;
    let blocker: ResourceQueue | undefined;
    for (let index = collectedCount; index < wanted.length; index++) {
      const queue = wanted[index] as ResourceQueue;
      const { holder } = queue;
      if (queue.isOpen || (queue.isDue && holder !== undefined && isReservedFor(holder, waiter))) {
        if (waiter.isReserving) queue.holder = waiter;
      } else if (ending === undefined || holder !== ending) {
        blocker ??= queue;
        if (!waiter.isReserving) return blocker;
      }
    }
    return blocker;
  }

  /** Decides whether a waiter keeps resources from others from now on, and for how long. */
  #escalate(waiter: Waiter): void {
    if (!waiter.isReserving) waiter.isReserving = wasPassedTooOften(waiter);
    if (!waiter.isCollecting && this.#collector === undefined) {
      waiter.isCollecting = this.#wasDeniedTooLong(waiter);
      if (waiter.isCollecting) this.#collector = waiter;
    }
    if (waiter.keepUntilMs < Infinity || !(waiter.isReserving || waiter.isCollecting)) return;
    const limitMs = Math.min(keepMs * 2 ** waiter.timesGivenBack, keepMsMax, waiter.settings.ttlMs / 2);
    waiter.keepUntilMs = this.#context.clock.monotonicMs() + limitMs;
    waiter.pause?.wake(); // so that it waits no longer than that
  }

  #wasDeniedTooLong({ queues, passedSince, denials, deniedSinceMs }: Waiter): boolean {
    if (denials < deniedMax || this.#context.clock.monotonicMs() - deniedSinceMs < deniedMsMax) return false;
    return queues.every((queue) => queue.releasedSince >= passedSince || queue.passedBy(passedSince) > 0);
  }

  /** The waiter that is next for all resources of a lock that is about to end, if it wants just those. */
  #successorOf(waiter: Waiter): Waiter | undefined {
    let next: Waiter | undefined;
    for (const queue of waiter.queues) {
      const first = this.#firstAfter(queue, waiter);
      if (first && (next === undefined || first.order < next.order)) next = first;
      if (queue.attempting !== undefined) return undefined;
    }
    const wanted = next?.wanted;
    if (wanted?.length !== waiter.queues.length) return undefined;
    return wanted.every((queue, index) => queue === waiter.queues[index]) ? next : undefined;
  }

  /** The oldest waiter that is parked at a resource and could go on once the lock on it has ended. */
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

  #hold(waiter: Waiter, nowMs: number): void {
    this.#callsUnderWay -= 1;
    if (waiter.queues.length === 0) this.#join(waiter);
    waiter.state = "holding";
    waiter.collected = undefined;
    waiter.keepUntilMs = Infinity;
    if (this.#collector === waiter) this.#collector = undefined;
    waiter.handingOverSinceMs ??= nowMs;
    for (const queue of waiter.queues) queue.locked(waiter);
    if (waiter.group !== undefined) this.#leaveGroup(waiter, waiter.group);
  }

  #endLock(waiter: Waiter, releaseVotes: Tally["votes"]): void {
    const { waiterName } = this.#context;
    const isOthersTurn = releaseVotes.some((vote) => vote?.next !== undefined && vote.next !== waiterName);
    const missedMs = waiter.queues.length > 1 ? missedNotificationOfSeveralMs : missedNotificationMs;
    for (const queue of waiter.queues) {
      if (isOthersTurn) this.#listen(queue, 0, waiter.settings.retryDelayMaxMs).deferToOthers();
      if (queue.holder !== waiter && queue.holder !== undefined) continue;
      queue.holder = queue.attempting;
      queue.notifications?.released();
      this.#deferTo(queue, isOthersTurn ? missedMs : (queue.notifications?.deferMs ?? 0), waiter.settings);
    }
  }

  /** Leaves a resource to other processes for so long, but never for longer than any other delay. */
  #deferTo(queue: ResourceQueue, delayMs: number, { retryDelayMaxMs }: Settings): void {
    const { clock } = this.#context;
    queue.dueAtMs = delayMs > 0 ? clock.monotonicMs() + Math.min(delayMs, retryDelayMaxMs) : -Infinity;
  }

  /** Another process wants the resource, too: has the nodes tell of releases. */
  #listen(queue: ResourceQueue, attemptMs: number, delayMsMax: number): ReleaseNotifications {
    queue.notifications ??= new ReleaseNotifications(this.#context, queue.resource, (delayMs) => {
      queue.releasedSince = this.#calls;
      if (delayMs === undefined) return;
      const dueAtMs = delayMs > 0 ? this.#context.clock.monotonicMs() + Math.min(delayMs, delayMsMax) : -Infinity;
      queue.dueAtMs = Math.min(queue.dueAtMs, dueAtMs);
      this.#serve([queue]);
    });
    if (!this.#isClosed) queue.notifications.watch(attemptMs);
    return queue.notifications;
  }

  /** The resources that were in the way of an attempt. */
  #blockedBy(waiter: Waiter, { outcome, votes }: AttemptFailed): readonly ResourceQueue[] {
    const { wanted, collectedCount, attempts } = waiter;
    if (outcome !== "held" || wanted.length === 1) return wanted;
    const named = wanted.filter(({ resource }) => votes.some((vote) => vote?.heldResources?.includes(resource)));
    if (named.length > 0) return named;
    // No node names one. Assume each in turn, so that none is kept from others for longer than a back-off.
    const uncollected = wanted.slice(collectedCount);
    return [uncollected[attempts % uncollected.length] as ResourceQueue];
  }

  /**
   * How many failures a back-off counts. A process that nodes notify need not ask often. But a split vote is followed by no
   * release that notifies a waiter, and a process that is not notified must not sleep through its turns.
   */
  #failuresFor({ attempts }: Waiter, wasDenied: boolean, blocked: readonly ResourceQueue[]): number {
    if (!wasDenied) return attempts;
    const isNotified = blocked.some(({ notifications }) => notifications?.isWatching);
    return isNotified ? Infinity : Math.min(attempts, unnotifiedFailuresMax);
  }

  #declineOffer(waiter: Waiter): void {
    if (waiter.offer === undefined) return;
    const { holder, settle } = waiter.offer;
    waiter.offer = undefined;
    for (const queue of holder.queues) if (queue.holder === waiter) queue.holder = holder; // until it is really released
    settle(false);
    waiter.handOvers = 0;
    waiter.handingOverSinceMs = undefined;
  }

  /** Gives back what a waiter keeps from others; it keeps it again when it was passed too often again. */
  #yieldResources(waiter: Waiter): void {
    if (waiter.keepUntilMs === Infinity) return;
    if (this.#collector === waiter) this.#collector = undefined;
    waiter.collected?.withdraw({});
    waiter.collected = undefined;
    waiter.collectedCount = 0;
    waiter.isReserving = false;
    waiter.isCollecting = false;
    waiter.keepUntilMs = Infinity;
    waiter.timesGivenBack += 1;
    waiter.passedSince = this.#calls;
    waiter.denials = 0;
    waiter.deniedSinceMs = Infinity;
    for (const queue of waiter.queues) vacate(queue, waiter);
    this.#serve(waiter.queues);
  }
}

/** A random delay that suits how often the resources change hands unannounced. */
function pollDelayMs(blocked: readonly ResourceQueue[]): number {
  return 1 + Math.random() * Math.min(...blocked.map(({ notifications }) => notifications?.pollLimitMs ?? Infinity));
}

function isGranted(vote: Vote | undefined): boolean {
  return vote?.kind === "granted";
}

/** Whether a resource is only kept for its holder, and is to go to this waiter: to the holder itself, or an older one. */
function isReservedFor(holder: Waiter, waiter: Waiter): boolean {
  return holder.state === "queued" && holder.collectedCount === 0 && holder.order >= waiter.order;
}

/** The waiter lets go of a resource that it does not hold a lock on: the next may try at once, unless a back-off goes on. */
function vacate(queue: ResourceQueue, waiter: Waiter): void {
  if (queue.holder !== waiter) return;
  queue.holder = undefined;
  if (queue.dueAtMs === Infinity) queue.dueAtMs = -Infinity;
}

/** Whether each resource of a waiter has gone to later calls, and all together too often. */
function wasPassedTooOften({ queues, passedSince }: Waiter): boolean {
  let passed = 0;
  for (const queue of queues) {
    const passedHere = queue.passedBy(passedSince);
    if (passedHere === 0) return false;
    passed += passedHere;
  }
  return passed >= passedMax;
}
