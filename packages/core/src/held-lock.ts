import type { Won } from "./acquire.ts";
import { autoExtend } from "./auto-extend.ts";
import type { Claim, Ensemble } from "./claim.ts";
import {
  ConfigurationError,
  type LockAction,
  LockLostError,
  type LossReason,
  QuorumUnreachableError,
} from "./errors.ts";
import { type Extension, extendOnce } from "./extend.ts";
import { Lease, type Term } from "./lease.ts";
import type { ExtendOptions, Lock } from "./lock.ts";
import type { LockEvent } from "./observer.ts";
import { parseExtension, type Settings } from "./options.ts";
import { failureOf } from "./outcome.ts";
import { Pause } from "./pause.ts";
import { releaseOnce } from "./release.ts";
import { retryDelay } from "./retry.ts";
import { elapsedMs, type Moment, momentOf } from "./validity.ts";
import type { Place } from "./waiting/place.ts";

/** The lock behind the interface. */
export class HeldLock implements Lock {
  readonly resources: readonly string[];
  readonly owner: string;
  readonly fence: number;
  readonly #ensemble: Ensemble;
  readonly #settings: Settings;
  readonly #claim: Claim;
  readonly #acquiredAt: Moment;
  readonly #place: Place;
  readonly #lease: Lease;
  /** What the nodes answered to the last round of extension, if that failed. */
  #failedExtension: Extension["answers"] = [];
  #extending: Promise<unknown> | undefined;
  #retryPause: Pause | undefined;
  #releasing: Promise<void> | undefined;
  #isReleased = false;
  #lost: LockLostError | undefined;
  #reachedMaxHold = false;
  #controller: AbortController | undefined;

  /**
   * @param ensemble the nodes
   * @param settings what the lock was acquired with
   * @param won the attempt that it results from
   * @param place where it stands in the queue until it has been released or lost
   */
  constructor(ensemble: Ensemble, settings: Settings, won: Won, place: Place) {
    this.resources = won.claim.resources;
    this.owner = won.claim.owner;
    this.fence = won.fence;
    this.#ensemble = ensemble;
    this.#settings = settings;
    this.#claim = won.claim;
    this.#acquiredAt = won.startedAt;
    this.#place = place;
    const term = { startedAt: won.startedAt, ttlMs: settings.ttlMs };
    this.#lease = new Lease(ensemble.clock, settings.driftFactor, term, () => this.#expire());
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
    autoExtend(this.#lease, this.#settings, () => this.#heldMs(), extend, onLimit);
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
    const ttlMs = parseExtension(this.#settings, options);
    return this.#extendFor(() => ttlMs);
  }

  release(): Promise<void> {
    if (this.remainingMs() === 0 && !this.#isReleased) return Promise.resolve();
    this.#releasing ??= this.#release();
    return this.#releasing;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.release().catch(() => {});
  }

  #heldMs(): number {
    return elapsedMs(this.#acquiredAt, this.#ensemble.clock);
  }

  /** Extensions follow one another, as each asks for no less than is left of the one before. */
  #extendFor(nextTtlMs: () => number | undefined): Promise<void> {
    const before = this.#extending ?? Promise.resolve();
    const extension = before.then(() => this.#extendUntilSettled(nextTtlMs));
    this.#extending = extension.catch(() => {});
    return extension;
  }

  async #extendUntilSettled(nextTtlMs: () => number | undefined): Promise<void> {
    const { nodes, clock } = this.#ensemble;
    const { nodeTimeoutMs, quorum } = this.#settings;
    const absent: boolean[] = [];
    for (let failures = 1; ; failures++) {
      const timeoutMs = Math.min(nodeTimeoutMs, this.#remainingOrThrow());
      const wantedMs = nextTtlMs();
      if (wantedMs === undefined) return;
      // A node that joins in must promise as much as those did on which the validity rests.
      const ttlMs = Math.max(wantedMs, this.#lease.ttlLeftMs());
      const term = { startedAt: momentOf(clock), ttlMs };
      const { outcome, answers } = await extendOnce(nodes, this.#claim, {
        ttlMs,
        fence: this.fence,
        quorum,
        timeoutMs,
        absent,
      });
      this.#failedExtension = outcome === "held" ? [] : answers;
      if (outcome === "lost") this.#lose("not-held");
      const stillMs = this.#remainingOrThrow();
      if (outcome === "held") return this.#extended(term);
      if (outcome === "misconfigured") throw new ConfigurationError(...this.#failure("keep", answers));
      this.#retryPause ??= new Pause(clock);
      await this.#retryPause.wait(Math.min(retryDelay(this.#settings, failures, undefined), stillMs));
    }
  }

  #extended(term: Term): void {
    this.#lease.renew(term);
    const remainingMs = this.#remainingOrThrow();
    this.#ensemble.observer.extended?.({ ...this.facts, remainingMs });
  }

  #remainingOrThrow(): number {
    const remainingMs = this.remainingMs();
    if (this.#lost !== undefined) throw this.#lost;
    if (this.#isReleased) throw this.#lostError("released");
    return remainingMs;
  }

  async #release(): Promise<void> {
    const { observer } = this.#ensemble;
    const { quorum, nodeTimeoutMs: timeoutMs } = this.#settings;
    const heldMs = observer.released ? this.#heldMs() : 0;
    const isFirst = !this.#isReleased;
    if (!isFirst && this.#lease.remainingMs() <= 0) return this.#claim.withdraw(timeoutMs, false);
    this.#isReleased = true;
    this.#end();
    const waiter = this.#place.successor && this.#ensemble.waiter;
    const offer = isFirst ? this.#place.handOver(this.#claim) : undefined;
    const handedOver = offer !== undefined && (await offer);
    const { confirmed, answers } = handedOver
      ? { confirmed: true, answers: [] }
      : await releaseOnce(this.#claim, { quorum, timeoutMs, waiter });
    if (isFirst) {
      observer.released?.({ ...this.facts, heldMs, confirmed, handedOver });
      this.#place.leave(answers.some((answer) => answer?.next !== undefined));
    }
    if (confirmed || this.#lease.remainingMs() <= 0) return;
    this.#releasing = undefined;
    throw new QuorumUnreachableError(...this.#failure("release", answers));
  }

  #expire(): void {
    this.#lose(this.#reachedMaxHold ? "max-hold" : "expired");
  }

  /** Ends the lock on this side. What nodes still hold of it could protect nothing, and would only be in the way. */
  #lose(reason: LossReason): void {
    if (this.#lost !== undefined || this.#isReleased) return;
    this.#lost = this.#lostError(reason);
    this.#end();
    this.#claim.withdraw(this.#settings.nodeTimeoutMs, false);
    this.#controller?.abort(this.#lost);
    this.#ensemble.observer.lost?.({ ...this.facts, heldMs: this.#heldMs(), error: this.#lost });
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
      "max-hold": `it was held for its maxHoldMs, ${this.#settings.maxHoldMs} ms`,
      released: "it was released",
    };
    const [message, resources, outcomes] = this.#failure("keep", this.#failedExtension, remarks[reason]);
    return new LockLostError(message, resources, reason, outcomes);
  }

  /** What an error about these answers is made of. */
  #failure(
    action: LockAction,
    answers: Parameters<typeof failureOf>[3],
    remark?: string,
  ): ReturnType<typeof failureOf> {
    return failureOf(action, this.resources, this.#ensemble.nodes, answers, this.#settings.quorum, remark);
  }
}
