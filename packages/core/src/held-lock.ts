import type { Won } from "./acquire.ts";
import { noAnswers } from "./answers.ts";
import { autoExtend } from "./auto-extend.ts";
import { ConfigurationError, LockLostError, type LossReason, QuorumUnreachableError } from "./errors.ts";
import { type Extension, extendOnce } from "./extend.ts";
import { Lease, type Term } from "./lease.ts";
import type { ExtendOptions, Lock } from "./lock.ts";
import type { LockEvent } from "./observer.ts";
import { parseExtension } from "./options.ts";
import { failureOf } from "./outcome.ts";
import { Pause } from "./pause.ts";
import { retryDelay } from "./retry.ts";
import { elapsedMs, momentOf } from "./validity.ts";
import type { Place } from "./waiting/place.ts";

/** The lock behind the interface. */
export class HeldLock implements Lock {
  readonly resources: readonly string[];
  readonly owner: string;
  readonly fence: number;
  readonly #place: Place;
  readonly #won: Won;
  readonly #lease: Lease;
  /** What the nodes answered to the last round of extension, if that failed. */
  #failedExtension: Extension["answers"] = noAnswers;
  #extending: Promise<unknown> | undefined;
  #retryPause: Pause | undefined;
  #releasing: Promise<void> | undefined;
  #isReleased = false;
  #lost: LockLostError | undefined;
  #reachedMaxHold = false;
  #controller: AbortController | undefined;

  /**
   * @param place where it stands until it has been released or lost
   * @param won the attempt that it results from
   */
  constructor(place: Place, won: Won) {
    const { clock } = place.ensemble;
    const { ttlMs, driftFactor } = place.settings;
    this.resources = won.claim.resources;
    this.owner = won.claim.owner;
    this.fence = won.fence;
    this.#place = place;
    this.#won = won;
    const term = { startedAt: won.startedAt, ttlMs };
    this.#lease = new Lease(clock, driftFactor, term, won.settledAt, () => this.#expire());
    place.hold(won.settledAt.monotonicMs);
  }

  /** What all events of the lock tell. */
  get facts(): LockEvent {
    const { resources, owner, fence } = this;
    return { resources, owner, fence };
  }

  /** Has the lock extended by itself from now on. */
  startAutoExtend(): void {
    const extend = (nextTtlMs: () => number | undefined) => this.#extendFor(nextTtlMs);
    const onLimit = () => {
      this.#reachedMaxHold = true;
    };
    autoExtend(this.#lease, this.#place.settings, () => this.#heldMs(), extend, onLimit);
  }

  get signal(): AbortSignal {
    this.remainingMs();
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#lost !== undefined) this.#controller.abort(this.#lost);
    }
    return this.#controller.signal;
  }

  /** The error that the lock was lost with, if it was. */
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
    const ttlMs = parseExtension(this.#place.settings, options);
    return this.#extendFor(() => ttlMs);
  }

  release(): Promise<void> {
    if (this.remainingMs() === 0 && !this.#isReleased) return Promise.resolve();
    this.#releasing ??= this.#release();
    return this.#releasing;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const release = this.release().catch(() => {});
    if (this.#place.settings.awaitRelease) await release;
  }

  #heldMs(): number {
    return elapsedMs(this.#won.startedAt, momentOf(this.#place.ensemble.clock));
  }

  /** Extensions follow one another, as each asks for no less than is left of the one before. */
  #extendFor(nextTtlMs: () => number | undefined): Promise<void> {
    const before = this.#extending ?? Promise.resolve();
    const extension = before.then(() => this.#extendUntilSettled(nextTtlMs));
    this.#extending = extension.catch(() => {});
    return extension;
  }

  async #extendUntilSettled(nextTtlMs: () => number | undefined): Promise<void> {
    const { nodes, clock } = this.#place.ensemble;
    const { nodeTimeoutMs, quorum } = this.#place.settings;
    const absent: boolean[] = [];
    for (let failures = 1; ; failures++) {
      const timeoutMs = Math.min(nodeTimeoutMs, this.#remainingOrThrow());
      const wantedMs = nextTtlMs();
      if (wantedMs === undefined) return;
      // A node that joins in must promise as much as those did on which the validity rests.
      const ttlMs = Math.max(wantedMs, this.#lease.ttlLeftMs());
      const term = { startedAt: momentOf(clock), ttlMs };
      const { outcome, answers } = await extendOnce(nodes, this.#won.claim, {
        ttlMs,
        fence: this.fence,
        quorum,
        timeoutMs,
        absent,
      });
      this.#failedExtension = outcome === "held" ? noAnswers : answers;
      if (outcome === "lost") this.#lose("not-held");
      const stillMs = this.#remainingOrThrow();
      if (outcome === "held") return this.#extended(term);
      if (outcome === "misconfigured") throw new ConfigurationError(...failureOf("keep", this.#place, answers));
      this.#retryPause ??= new Pause(clock);
      await this.#retryPause.wait(Math.min(retryDelay(this.#place.settings, failures, undefined), stillMs));
    }
  }

  #extended(term: Term): void {
    this.#lease.renew(term);
    const remainingMs = this.#remainingOrThrow();
    this.#place.ensemble.observer.extended?.({ ...this.facts, remainingMs });
  }

  #remainingOrThrow(): number {
    const remainingMs = this.remainingMs();
    if (this.#lost !== undefined) throw this.#lost;
    if (this.#isReleased) throw this.#lostError("released");
    return remainingMs;
  }

  async #release(): Promise<void> {
    const { observer, waiter } = this.#place.ensemble;
    const { queue, settings } = this.#place;
    const { quorum } = settings;
    const heldMs = observer.released ? this.#heldMs() : 0;
    const isFirst = !this.#isReleased;
    if (!isFirst && this.#lease.remainingMs() <= 0) return this.#won.claim.withdraw();
    this.#isReleased = true;
    this.#end();
    if (queue.isCrowded) await queue.turn(Infinity);
    else queue.beginQuestion();
    const waiting = this.#place.successor && { waiter };
    const offer = isFirst ? this.#place.handOver(this.#won.claim) : undefined;
    const handedOver = offer !== undefined && (await offer);
    const { yes, answers } = handedOver
      ? { yes: quorum, answers: noAnswers }
      : await this.#won.claim.release(quorum, waiting);
    queue.endQuestion();
    const confirmed = yes >= quorum;
    if (isFirst) {
      observer.released?.({ ...this.facts, heldMs, confirmed, handedOver });
      this.#place.leave(answers.some((answer) => answer?.next !== undefined && answer.next !== waiter));
    }
    if (confirmed || this.#lease.remainingMs() <= 0) return;
    this.#releasing = undefined;
    throw new QuorumUnreachableError(...failureOf("release", this.#place, answers));
  }

  #expire(): void {
    this.#lose(this.#reachedMaxHold ? "max-hold" : "expired");
  }

  /** Ends the lock on this side. What nodes still hold of it could protect nothing, and would only be in the way. */
  #lose(reason: LossReason): void {
    if (this.#lost !== undefined || this.#isReleased) return;
    this.#lost = this.#lostError(reason);
    this.#end();
    this.#won.claim.withdraw();
    this.#controller?.abort(this.#lost);
    this.#place.ensemble.observer.lost?.({ ...this.facts, heldMs: this.#heldMs(), error: this.#lost });
    this.#place.leave();
  }

  #end(): void {
    this.#lease.stop();
    this.#retryPause?.wake();
  }

  #lostError(reason: LossReason): LockLostError {
    const remarks = {
      expired: "its validity ended before it was extended",
      "not-held": "too few nodes hold it",
      "max-hold": `it was held for its maxHoldMs, ${this.#place.settings.maxHoldMs} ms`,
      released: "it was released",
    };
    const [message, resources, outcomes] = failureOf("keep", this.#place, this.#failedExtension, remarks[reason]);
    return new LockLostError(message, resources, reason, outcomes);
  }
}
