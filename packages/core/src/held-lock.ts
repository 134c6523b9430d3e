import type { AttemptWon } from "./attempt.ts";
import type { RedlockContext } from "./context.ts";
import {
  ConfigurationError,
  failureDetails,
  type LockAction,
  LockLostError,
  type LossReason,
  QuorumUnreachableError,
} from "./errors.ts";
import { type Extension, extendOnce } from "./extend.ts";
import { elapsedMs, Lease, readClocks, type TtlWindow, validityMs } from "./lease.ts";
import type { ExtendOptions, Lock, TransferOptions } from "./lock.ts";
import type { LockEvent } from "./observer.ts";
import { parseExtension, type Settings } from "./options.ts";
import { Pause, retryDelay } from "./pause.ts";
import { parseTransfer, transferClaim } from "./transfer.ts";
import { noVotes, type Tally, verdict } from "./votes.ts";
import type { LocalQueues, Waiter } from "./waiting/index.ts";

/** The implementation of {@link Lock}. */
export class HeldLock implements Lock {
  readonly resources: readonly string[];
  readonly owner: string;
  readonly fence: number;
  readonly #context: RedlockContext;
  readonly #queues: LocalQueues;
  /** The call that acquired the lock. It stays in the queues until the lock ends. */
  readonly #waiter: Waiter;
  readonly #won: AttemptWon;
  readonly #lease: Lease;
  /** The votes of the last extension round, if it failed. */
  #failedExtension: Extension["votes"] = noVotes;
  #extending: Promise<unknown> | undefined;
  /** Whether the nodes are being asked to extend the lock. */
  #isExtending = false;
  #retryPause: Pause | undefined;
  #releasing: Promise<void> | undefined;
  #isReleased = false;
  /** Why the lock cannot be used any more, if it was transferred. It counts as released then. */
  #transferred: LockLostError | undefined;
  #lost: LockLostError | undefined;
  #reachedMaxHold = false;
  #controller: AbortController | undefined;

  /**
   * @param context the shared state of the `Redlock`
   * @param queues notified when the lock ends
   * @param waiter the call that acquired the lock
   * @param won the attempt that won the lock
   */
  constructor(context: RedlockContext, queues: LocalQueues, waiter: Waiter, won: AttemptWon) {
    this.resources = waiter.resources;
    this.owner = won.claim.owner;
    this.fence = won.fence;
    this.#context = context;
    this.#queues = queues;
    this.#waiter = waiter;
    this.#won = won;
    this.#lease = new Lease(context.clock, waiter.settings, won.startedAt, won.settledAt, () => this.#expire());
  }

  /** With which it was acquired. */
  get settings(): Settings {
    return this.#waiter.settings;
  }

  /** The fields that all events of the lock share. */
  get facts(): LockEvent {
    const { resources, owner, fence } = this;
    return { resources, owner, fence };
  }

  /**
   * Starts to extend the lock each time half of its validity has passed, which leaves time for several retries while nodes do
   * not reply. Shortens the last extension so that the lock ends at `maxHoldMs`. Stops with the lease.
   */
  startAutoExtend(): void {
    const lease = this.#lease;
    const { ttlMs, maxHoldMs } = this.#waiter.settings;
    const nextTtlMs = (): number | undefined => {
      const nextMs = Math.min(ttlMs, Math.floor(maxHoldMs - this.#heldMs()));
      return lease.wouldGain(nextMs) ? nextMs : undefined;
    };
    const onLimit = (): void => {
      this.#reachedMaxHold = true;
    };
    const wait = (): void => lease.ringAt(lease.remainingMs() / 2, ring);
    const ring = (): void => {
      const nextMs = nextTtlMs();
      if (nextMs !== undefined) this.#extendFor(nextTtlMs).then(nextMs < ttlMs ? onLimit : wait, () => {});
      else if (maxHoldMs - this.#heldMs() < ttlMs) onLimit();
      else wait(); // a call to extend() has already made it last longer
    };
    wait();
  }

  get signal(): AbortSignal {
    this.remainingMs();
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      const reason = this.#lost ?? this.#transferred;
      if (reason !== undefined) this.#controller.abort(reason);
    }
    return this.#controller.signal;
  }

  /** For JavaScript that comes from libraries whose `using` passes a signal: it would never see a loss. */
  get aborted(): never {
    throw new TypeError("a lock is not a signal: read lock.signal.aborted");
  }

  /** The error with which the lock was lost, or undefined. */
  get lost(): LockLostError | undefined {
    this.remainingMs();
    return this.#lost;
  }

  remainingMs(): number {
    if (this.#lost !== undefined || this.#isReleased) return 0;
    const remainingMs = this.#lease.remainingMs();
    if (remainingMs > 0) return remainingMs;
    this.#expire();
    return 0;
  }

  async extend(options?: ExtendOptions): Promise<void> {
    const ttlMs = parseExtension(this.#waiter.settings, options);
    return this.#extendFor(() => ttlMs);
  }

  release(): Promise<void> {
    if (this.remainingMs() === 0 && !this.#isReleased) return Promise.resolve();
    this.#releasing ??= this.#release();
    return this.#releasing;
  }

  async transfer(options?: TransferOptions): Promise<string> {
    const withinMs = parseTransfer(this.#waiter.settings, options);
    this.#remainingOrThrow();
    const transfer = this.#transfer(withinMs);
    this.#releasing = transfer.then(
      () => {},
      () => {},
    );
    this.#controller?.abort(this.#transferred); // last, as a listener may call release()
    return transfer;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const release = this.release().catch(() => {});
    if (this.#waiter.settings.awaitRelease) await release;
  }

  #heldMs(): number {
    return elapsedMs(this.#won.startedAt, readClocks(this.#context.clock));
  }

  /** Extends after any extension in progress: each one asks for at least the ttl that the previous one left. */
  #extendFor(nextTtlMs: () => number | undefined): Promise<void> {
    const before = this.#extending ?? Promise.resolve();
    const extension = before.then(() => this.#extendUntilSettled(nextTtlMs));
    this.#extending = extension.catch(() => {});
    return extension;
  }

  async #extendUntilSettled(nextTtlMs: () => number | undefined): Promise<void> {
    const { clock, limit } = this.#context;
    const { settings } = this.#waiter;
    const absent: boolean[] = [];
    for (let failures = 1; ; failures++) {
      const leftMs = this.#remainingOrThrow();
      const wait = { patienceMs: leftMs, isUrgent: true };
      const round = await limit.run(() => this.#extendOnce(nextTtlMs, absent), wait);
      this.#isExtending = false;
      if (round === null) return;
      if (round === undefined) continue; // no permit while the lock was valid
      const { outcome, votes, window } = round;
      this.#failedExtension = outcome === "held" ? noVotes : votes;
      if (outcome === "lost") this.#lose("not-held");
      const stillMs = this.#remainingOrThrow();
      if (outcome === "held") return this.#extended(window);
      if (outcome === "misconfigured") throw new ConfigurationError(...this.#details("keep", votes));
      this.#retryPause ??= new Pause(clock);
      await this.#retryPause.wait(Math.min(retryDelay(settings, failures), stillMs));
    }
  }

  /** Makes one extension round. Returns null if there is nothing to gain. */
  async #extendOnce(
    nextTtlMs: () => number | undefined,
    absent: boolean[],
  ): Promise<(Extension & { readonly window: TtlWindow }) | null> {
    const { clock } = this.#context;
    const { nodeTimeoutMs, quorum } = this.#waiter.settings;
    const timeoutMs = Math.min(nodeTimeoutMs, this.#remainingOrThrow());
    const wantedMs = nextTtlMs();
    if (wantedMs === undefined) return null;
    // A node that rejoins must keep the claim as long as the nodes that the current validity depends on.
    const ttlMs = Math.max(wantedMs, this.#lease.ttlLeftMs());
    const window = { startedAt: readClocks(clock), ttlMs };
    this.#isExtending = true;
    const terms = { ttlMs, fence: this.fence, timeoutMs };
    return { ...(await extendOnce(this.#won.claim, terms, quorum, absent)), window };
  }

  #extended(window: TtlWindow): void {
    this.#lease.renew(window);
    const remainingMs = this.#remainingOrThrow();
    this.#context.observer.extended?.({
      ...this.facts,
      startedAt: window.startedAt,
      validityMs: validityMs(window.ttlMs, this.#waiter.settings.driftFactor),
      remainingMs,
    });
  }

  #remainingOrThrow(): number {
    const remainingMs = this.remainingMs();
    if (this.#lost !== undefined) throw this.#lost;
    if (this.#isReleased) throw this.#transferred ?? this.#lostError("released");
    return remainingMs;
  }

  async #release(): Promise<void> {
    const { observer, limit } = this.#context;
    const { claim } = this.#won;
    const { quorum, nodeTimeoutMs } = this.#waiter.settings;
    const isFirst = !this.#isReleased;
    if (!isFirst && this.#lease.remainingMs() <= 0) {
      claim.withdraw({});
      return;
    }
    const heldMs = observer.released ? this.#heldMs() : 0;
    this.#isReleased = true;
    this.#end();
    if (isFirst) observer.releasing?.(this.facts);
    limit.begin(nodeTimeoutMs);
    let hasPermit = limit.enter();
    if (!hasPermit) {
      // A claim that has ended by then needs no release.
      const patienceMs = Math.max(nodeTimeoutMs, this.#lease.ttlLeftMs());
      hasPermit = await limit.wait({ patienceMs, isUrgent: true });
    }
    let handedOver = false;
    let tally: Tally | undefined;
    if (hasPermit) {
      const offer = isFirst ? this.#queues.handOver(this.#waiter, claim) : undefined;
      if (offer !== undefined) {
        claim.end();
        handedOver = await offer;
      }
      if (!handedOver) {
        tally = await claim.release(quorum, isFirst ? this.#queues.releaseHints(this.#waiter) : undefined);
      }
      limit.leave();
    }
    claim.end(); // also without a permit
    limit.end();
    const votes = tally?.votes ?? noVotes;
    const confirmed = handedOver || quorum.isReachedBy(tally?.verdicts ?? [], verdict.yes);
    if (isFirst) {
      observer.released?.({ ...this.facts, heldMs, confirmed, handedOver });
      this.#queues.leave(this.#waiter, votes);
    }
    if (confirmed || this.#lease.remainingMs() <= 0) return;
    this.#releasing = undefined;
    throw new QuorumUnreachableError(...this.#details("release", votes));
  }

  async #transfer(withinMs: number): Promise<string> {
    const { limit, observer } = this.#context;
    const { settings } = this.#waiter;
    const heldMs = this.#heldMs();
    this.#isReleased = true;
    this.#transferred = this.#lostError("transferred");
    this.#end();
    observer.releasing?.(this.facts);
    limit.begin(2 * settings.nodeTimeoutMs); // the nodes may have to agree on the fence
    const result = await transferClaim(this.#context, {
      resources: this.resources,
      settings,
      claim: this.#won.claim,
      withinMs,
      remainingMs: () => this.#lease.remainingMs(),
    });
    limit.end();
    this.#queues.leave(this.#waiter);
    if (typeof result === "string") {
      observer.released?.({ ...this.facts, heldMs, confirmed: true, handedOver: true });
      return result;
    }
    const wasHeld = result.outcome !== "held";
    const remark = wasHeld ? result.remark : "too few nodes hold it";
    const [message, resources, outcomes] = this.#details("transfer", result.votes, remark);
    const error = new LockLostError(message, resources, wasHeld ? "unreachable" : "not-held", outcomes);
    this.#transferred = error;
    observer.lost?.({ ...this.facts, heldMs, error });
    throw error;
  }

  #expire(): void {
    const isAskedFor = this.#isExtending || this.#failedExtension.length > 0;
    const { reason, ms } = this.#lease.hindrance() ?? { reason: isAskedFor ? "unreachable" : "expired", ms: 0 };
    this.#lose(this.#reachedMaxHold ? "max-hold" : reason, ms);
  }

  /** Ends the lock here and releases it on the nodes, where it would only block other owners. */
  #lose(reason: LossReason, hinderedMs: number = 0): void {
    if (this.#lost !== undefined || this.#isReleased) return;
    this.#lost = this.#lostError(reason, hinderedMs);
    this.#end();
    this.#won.claim.withdraw({});
    this.#controller?.abort(this.#lost);
    this.#context.observer.lost?.({ ...this.facts, heldMs: this.#heldMs(), error: this.#lost });
    this.#queues.leave(this.#waiter);
  }

  #end(): void {
    this.#lease.stop();
    this.#retryPause?.wake();
  }

  #lostError(reason: LossReason, hinderedMs: number = 0): LockLostError {
    const ms = `${Math.round(hinderedMs)} ms`;
    const remarks = {
      expired: "its validity ended before it was extended",
      unreachable: "its validity ended while too few nodes replied",
      blocked: `its validity ended while this process was blocked: a timer was ${ms} late`,
      suspended: `its validity ended while the machine was suspended, or its clock set forward, for ${ms}`,
      "not-held": "too few nodes hold it",
      "max-hold": `it was held for its maxHoldMs, ${this.#waiter.settings.maxHoldMs} ms`,
      released: "it was released",
      transferred: "it was transferred",
    };
    const [message, resources, outcomes] = this.#details("keep", this.#failedExtension, remarks[reason]);
    return new LockLostError(message, resources, reason, outcomes);
  }

  #details(action: LockAction, votes: Tally["votes"], remark?: string): ReturnType<typeof failureDetails> {
    const { nodes } = this.#context;
    const operation = { resources: this.resources, nodes, quorum: this.#waiter.settings.quorum };
    return failureDetails(action, operation, votes, remark);
  }
}
