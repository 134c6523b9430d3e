import {
  type Clock,
  HoldfastError,
  type Lock,
  type LockLostError,
  type LossReason,
  type NodeOutcome,
} from "@holdfast/core";

/** Why a term ended. */
export type TermEnd =
  /** The leader resigned. */
  | "resigned"
  /** The campaign ended: its signal aborted, or its loop was left. */
  | "stopped"
  /** The leader's lock was lost. */
  | Exclude<LossReason, "released" | "transferred">;

/**
 * A term has ended. The `signal` of the term aborts with this error as its reason.
 *
 * @example
 * ```ts
 * import { election, TermEndedError } from "@holdfast/core/election";
 *
 * for await (const term of election(redlock, "jobs").campaign()) {
 *   const { signal } = term;
 *   await term.resign();
 *   if (signal.reason instanceof TermEndedError) console.log(signal.reason.reason); // "resigned"
 *   break;
 * }
 * ```
 */
export class TermEndedError extends HoldfastError {
  override readonly name = "TermEndedError";
  static override readonly code = "TERM_ENDED";
  readonly code = "TERM_ENDED";
  /** Why the term ended. */
  readonly reason: TermEnd;
  /** The number of the term. */
  readonly fence: number;

  /**
   * @param message see `HoldfastError`
   * @param resources the name of the election
   * @param fence the number of the term
   * @param reason why the term ended
   * @param outcomes how each node replied, if the leader's lock was lost
   */
  constructor(
    message: string,
    resources: readonly string[],
    fence: number,
    reason: TermEnd,
    outcomes?: readonly NodeOutcome[],
  ) {
    super(message, resources, outcomes);
    this.fence = fence;
    this.reason = reason;
  }
}

/** The time in which this process leads. */
export interface Term {
  /**
   * The number of the term: its fencing token, a safe integer, larger than that of every earlier term. Show it to the
   * storage with each access.
   */
  readonly fence: number;
  /** The value that signs the leader's claim on the nodes, prefixed by the label if there is one. */
  readonly owner: string;
  /**
   * Aborts when the term has ended, before another one can begin, with a {@link TermEndedError} as the reason. Reading
   * this property checks the clocks: after a pause of the process, `term.signal.aborted` is true even if the timer that
   * ends the term has not fired yet. A variable that holds the signal is behind for that moment.
   */
  readonly signal: AbortSignal;
  /** Returns how long this process may rely on leading from now, in milliseconds: 0 once the term has ended. */
  remainingMs(): number;
  /**
   * Confirms with a quorum of nodes that this process leads, and extends the term to its full ttl. Terms are extended
   * automatically; this is for work that must not begin late in a term.
   *
   * @throws {TermEndedError} when the term has ended, or turns out to have ended
   * @throws {ConfigurationError} when nodes report a configuration error, and the rest is no quorum
   */
  extend(): Promise<void>;
  /**
   * Ends the term: aborts `signal`, and then releases the lock, so that the next leader is elected immediately. Work
   * that ignores the signal may overlap with that of the next leader. Safe to repeat.
   *
   * @throws {QuorumUnreachableError} when too few nodes confirm the release; the lock then expires with its ttl
   */
  resign(): Promise<void>;
}

/** The implementation of {@link Term}: a lock, and a signal that also aborts when the leader resigns. */
export class HeldTerm implements Term {
  readonly fence: number;
  readonly owner: string;
  readonly #lock: Lock;
  readonly #clock: Clock;
  readonly #onEnd: (error: TermEndedError) => void;
  readonly #controller = new AbortController();
  readonly #onLost = (): void => this.#lost();
  #cancelRelease: (() => void) | undefined;

  /**
   * @param lock the leader's lock, extended automatically
   * @param clock measures how long the lock outlasts a stopped campaign
   * @param onEnd called once, when the term has ended
   */
  constructor(lock: Lock, clock: Clock, onEnd: (error: TermEndedError) => void) {
    this.fence = lock.fence;
    this.owner = lock.owner;
    this.#lock = lock;
    this.#clock = clock;
    this.#onEnd = onEnd;
    lock.signal.addEventListener("abort", this.#onLost);
    if (lock.signal.aborted) this.#lost();
  }

  get signal(): AbortSignal {
    this.#lock.remainingMs(); // notices a loss that no timer has reported yet
    return this.#controller.signal;
  }

  /** The error with which the term ended, or undefined. */
  get ended(): TermEndedError | undefined {
    return this.signal.aborted ? this.#controller.signal.reason : undefined;
  }

  remainingMs(): number {
    return this.ended === undefined ? this.#lock.remainingMs() : 0;
  }

  async extend(): Promise<void> {
    if (this.ended !== undefined) throw this.ended;
    try {
      await this.#lock.extend();
    } catch (error) {
      throw this.ended ?? error;
    }
    if (this.ended !== undefined) throw this.ended;
  }

  resign(): Promise<void> {
    this.#end("resigned", "the leader resigned");
    this.#cancelRelease?.();
    return this.#lock.release();
  }

  /**
   * Ends the term because the campaign was stopped. The lock is kept while the leader finishes, so that nobody else
   * leads meanwhile, and at most for as long as it would last without another extension.
   */
  stop(): void {
    const keptMs = this.#lock.remainingMs();
    if (!this.#end("stopped", "the campaign was stopped") || this.#lock.remainingMs() === 0) return; // a listener of the signal may have resigned
    this.#cancelRelease = this.#clock.startTimer(keptMs, () => void this.#lock.release().catch(() => {}));
  }

  #lost(): void {
    const { message, reason, outcomes } = this.#lock.signal.reason as LockLostError;
    if (reason !== "released" && reason !== "transferred") this.#end(reason, message, outcomes);
    this.#cancelRelease?.();
  }

  #end(reason: TermEnd, remark: string, outcomes?: readonly NodeOutcome[]): boolean {
    if (this.#controller.signal.aborted) return false;
    const { fence } = this;
    const { resources } = this.#lock;
    const message = `term ${fence} of ${resources.join(", ")} has ended: ${remark}`;
    const error = new TermEndedError(message, resources, fence, reason, outcomes);
    this.#controller.abort(error);
    this.#onEnd(error);
    return true;
  }
}
