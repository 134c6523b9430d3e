/** Leader election: one of several processes leads, in terms that have a number each. */
import type { LockOptions, Redlock } from "@holdfast/core";
import { assertOptions, checkInteger, checkMethods, checkType } from "@holdfast/core/node";
import { campaign, type ElectionContext } from "./election/campaign.ts";
import { type Leader, type Leadership, leaderOf, observe } from "./election/leadership.ts";
import type { ElectionObserver } from "./election/observer.ts";
import { stoppable } from "./election/stopping.ts";
import type { Term } from "./election/term.ts";
import { assertObserver, safeObserver } from "./safe-observer.ts";

export type { Leader, Leadership } from "./election/leadership.ts";
export type * from "./election/observer.ts";
export { type Term, type TermEnd, TermEndedError } from "./election/term.ts";

/** The callbacks of an observer. */
const observerNames: readonly (keyof ElectionObserver)[] = ["elected", "termEnded", "campaignFailed"];

/** The options of {@link election}. */
export interface ElectionOptions {
  /** A human-readable name that shows others who leads: up to 100 printable characters. Default: none. */
  readonly label?: string | undefined;
  /**
   * How long the nodes keep the claim of a leader that does not extend it, in milliseconds. When a leader dies, the next
   * one is elected after this time. Default: the ttl of the `Redlock`.
   */
  readonly ttlMs?: number | undefined;
  /** The longest term, in milliseconds; at least `ttlMs`. Then another process may lead. Default: no limit. */
  readonly maxHoldMs?: number | undefined;
  /** Receives events; see {@link ElectionObserver}. */
  readonly observer?: ElectionObserver | undefined;
}

/** The options of {@link Election.campaign} and {@link Election.observe}. */
export interface IterationOptions {
  /** Ends the iteration when it aborts. */
  readonly signal?: AbortSignal | undefined;
}

/** An election of a leader. */
export interface Election {
  /** The name of the election, which is also the name of the resource that the leader locks. */
  readonly name: string;
  /**
   * Campaigns repeatedly, and yields each term that this process wins. The body of the loop is the term:
   * the leader works there until the `signal` of the term aborts, and resigns when the body ends, for whatever reason.
   *
   * - Waits for its turn with the other candidates. While too few nodes reply, keeps trying.
   * - After a lost term, stands for election immediately; after a resignation, one second later, so that others lead
   *   first.
   * - When `signal` aborts, the iteration ends, and so does the term. The lock is released when the body has ended, or
   *   when it would have ended without another extension.
   *
   * The next step of the iteration rejects with:
   *
   * @throws {ConfigurationError} when a node reports a configuration error
   * @throws {RedlockClosedError} when the `Redlock` is closed
   * @throws {TypeError | RangeError} for options that do not fit together or to the `Redlock`
   *
   * @example
   * ```ts
   * const jobs = election(redlock, "jobs", { label: "host-1" });
   * for await (const term of jobs.campaign()) {
   *   while (!term.signal.aborted) {
   *     console.log(`leading in term ${term.fence}`);
   *     break; // … one step of the work
   *   }
   *   break; // leaving the loop ends the campaign
   * }
   * ```
   */
  campaign(options?: IterationOptions): AsyncIterableIterator<Term>;
  /**
   * Returns the leader that a quorum of nodes names, or null if nobody leads. The answer was true at some moment during
   * the call.
   *
   * @throws {QuorumUnreachableError} when too few nodes replied to tell
   * @throws {RedlockClosedError} when the `Redlock` is closed
   *
   * @example
   * ```ts
   * const leader = await election(redlock, "jobs").leader();
   * console.log(leader === null ? "nobody leads" : `${leader.label} leads in term ${leader.fence}`);
   * ```
   */
  leader(): Promise<Leader | null>;
  /**
   * Yields who leads now, and again after each change. Changes that follow each other more quickly than they are
   * consumed are skipped, except the last one.
   *
   * @throws {RedlockClosedError} from the iteration, as soon as the `Redlock` is closed
   *
   * @example
   * ```ts
   * for await (const { state, leader } of election(redlock, "jobs").observe()) {
   *   console.log(state === "led" ? `${leader?.label} leads` : state);
   *   break;
   * }
   * ```
   */
  observe(options?: IterationOptions): AsyncIterableIterator<Leadership>;
  /**
   * Ends the terms of this election in this process, as {@link Term.resign} does. A campaign in progress lets
   * others lead first, and continues. Resolves immediately if this process does not lead.
   *
   * @throws {QuorumUnreachableError} when too few nodes confirm the release; the lock then expires with its ttl
   */
  resign(): Promise<void>;
}

/**
 * Returns an election, in which all processes take part that use the same name over the same nodes. Sends nothing.
 *
 * A leader holds the lock of this name, extended automatically. It leads alone as long as its lock excludes others; see
 * `Redlock`. A leader that is paused for longer than the ttl does not know that its term has ended: only a storage that
 * is shown the number of the term can refuse its late work.
 *
 * @param redlock the lock servers
 * @param name the name of the election
 * @param options see {@link ElectionOptions}
 * @throws {TypeError | RangeError} for a bad argument or an unknown option
 *
 * @example
 * ```ts
 * import { election } from "@holdfast/core/election";
 *
 * const jobs = election(redlock, "jobs", { label: "host-1", ttlMs: 5_000 });
 * for await (const term of jobs.campaign()) {
 *   console.log(`leading in term ${term.fence} for at least ${term.remainingMs()} ms`);
 *   break;
 * }
 * ```
 */
export function election(redlock: Redlock, name: string, options: ElectionOptions = {}): Election {
  checkMethods("redlock", ["acquire", "inspect"], redlock);
  checkType("name", "string", name);
  if (name === "") throw new RangeError("name must be a non-empty string, not an empty string");
  const { observer, ...lockOptions } = parseOptions(options);
  const context: ElectionContext = { redlock, name, lockOptions, observer: safeObserver(observer), terms: new Set() };
  return {
    name,
    campaign: (iteration) => stoppable(signalOf(iteration, "a campaign"), (stop) => campaign(context, stop)),
    leader: () => leaderOf(redlock, name),
    observe: (iteration) => stoppable(signalOf(iteration, "observe"), (stop) => observe(redlock, name, stop)),
    async resign() {
      await Promise.all([...context.terms].map((term) => term.resign()));
    },
  };
}

function parseOptions(options: ElectionOptions): LockOptions & Pick<ElectionOptions, "observer"> {
  assertOptions(options, ["label", "ttlMs", "maxHoldMs", "observer"], "an election");
  const { label, ttlMs, maxHoldMs, observer } = options;
  if (label !== undefined) checkType("label", "string", label);
  if (ttlMs !== undefined) checkInteger("ttlMs", ttlMs);
  if (maxHoldMs !== undefined) checkType("maxHoldMs", "number", maxHoldMs);
  assertObserver(observer, observerNames, "an observer of an election");
  const campaigning = { mode: "exclusive", waitTimeoutMs: Infinity, autoExtend: true } as const;
  return { label, ttlMs, maxHoldMs, observer, ...campaigning };
}

function signalOf(options: IterationOptions | undefined = {}, owner: string): AbortSignal | undefined {
  assertOptions(options, ["signal"], owner);
  const { signal } = options;
  if (signal !== undefined && !(signal instanceof AbortSignal)) {
    throw new TypeError("signal must be an AbortSignal");
  }
  return signal;
}
