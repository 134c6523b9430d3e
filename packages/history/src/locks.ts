/** The time under a lock. Times are milliseconds on one clock. */
export interface LockedTime {
  /** What it locked. */
  readonly resources: readonly string[];
  /** Whether it excluded all others, or only exclusive ones. Default `exclusive`. */
  readonly mode?: "exclusive" | "shared" | undefined;
  /** The fencing token. */
  readonly fence: number;
  /** A time at or before the first request of the successful attempt. */
  readonly attemptAtMs: number;
  /** When the holder got the lock. */
  readonly grantedAtMs: number;
  /** The end of the right to rely on the lock: the release, the loss, or the end of the validity. */
  readonly heldUntilMs: number;
}

/** Two locks with a resource in common, in the order of their grants. */
export interface LockPair<Lock> {
  /** The lock that was granted first. */
  readonly earlier: Lock;
  /** The other one. */
  readonly later: Lock;
}

/**
 * By how much the times of two locks must differ, in milliseconds, to tell which was first: the difference of the clocks
 * that measured them.
 */
export type Margin<Lock> = (one: Lock, other: Lock) => number;

/**
 * Finds locks that exclude each other, and that their holders could rely on at the same time.
 *
 * @param locks in any order
 * @returns all pairs
 *
 * @example
 * ```ts
 * import { overlapsOf } from "@holdfast/history/checks";
 *
 * const first = { resources: ["stock"], fence: 1, attemptAtMs: 0, grantedAtMs: 1, heldUntilMs: 20 };
 * const second = { resources: ["stock"], fence: 2, attemptAtMs: 10, grantedAtMs: 11, heldUntilMs: 30 };
 * console.log(overlapsOf([first, second]).length); // 1
 * ```
 */
export function overlapsOf<Lock extends LockedTime>(locks: readonly Lock[]): LockPair<Lock>[] {
  const exclusion = new Exclusion<Lock>();
  return [...inOrder(locks).flatMap((lock) => exclusion.grant(lock)), ...exclusion.endAll()];
}

/**
 * Finds locks whose token repeats that of an earlier one, or is smaller than that of a lock granted before their attempt
 * began. Shared locks may have the same token.
 *
 * @param locks in any order
 * @param isExempt whether the tokens of two locks may be in any order
 * @returns at most one pair for each lock with a wrong token
 *
 * @example
 * ```ts
 * import { tokenFaultsOf } from "@holdfast/history/checks";
 *
 * const first = { resources: ["stock"], fence: 2, attemptAtMs: 0, grantedAtMs: 1, heldUntilMs: 5 };
 * const second = { resources: ["stock"], fence: 1, attemptAtMs: 10, grantedAtMs: 11, heldUntilMs: 30 };
 * console.log(tokenFaultsOf([first, second]).length); // 1
 * ```
 */
export function tokenFaultsOf<Lock extends LockedTime>(
  locks: readonly Lock[],
  isExempt?: (earlier: Lock, later: Lock) => boolean,
): LockPair<Lock>[] {
  const tokens = new TokenOrder<Lock>({ isExempt });
  return inOrder(locks).flatMap((lock) => tokens.grant(lock) ?? []);
}

/** Finds overlaps while locks are granted and end. It remembers only locks that may still be held. */
export class Exclusion<Lock extends LockedTime> {
  readonly #marginMs: Margin<Lock>;
  readonly #isOver: (earlier: Lock, later: Lock) => boolean;
  readonly #held = new Map<string, Set<Lock>>();
  /** The locks that are held, each with the pairs that exclude each other and were held at the same time. */
  readonly #pairs = new Map<Lock, Set<LockPair<Lock>>>();

  /**
   * @param options.marginMs default 0
   * @param options.isOver whether a lock is known to be over at the grant of a later one, although its time has not passed
   */
  constructor({
    marginMs,
    isOver,
  }: { marginMs?: Margin<Lock>; isOver?: (earlier: Lock, later: Lock) => boolean } = {}) {
    this.#marginMs = marginMs ?? (() => 0);
    this.#isOver = isOver ?? (() => false);
  }

  /** Adds a lock, in the order of grants. Returns the overlaps of locks that have ended since. */
  grant(later: Lock): LockPair<Lock>[] {
    const found: LockPair<Lock>[] = [];
    const pairs = new Set<LockPair<Lock>>();
    for (const earlier of new Set(later.resources.flatMap((resource) => [...(this.#held.get(resource) ?? [])]))) {
      const pair = { earlier, later };
      const isOver = earlier.heldUntilMs + this.#marginMs(earlier, later) < later.grantedAtMs;
      if (isOver || this.#isOver(earlier, later)) found.push(...this.end(earlier));
      else if (!areShared(earlier, later)) {
        this.#pairs.get(earlier)?.add(pair);
        pairs.add(pair);
      }
    }
    this.#pairs.set(later, pairs);
    for (const resource of later.resources) {
      const held = this.#held.get(resource) ?? new Set();
      this.#held.set(resource, held.add(later));
    }
    return found;
  }

  /** Removes a lock whose `heldUntilMs` is final, and returns its overlaps with locks that have ended. */
  end(lock: Lock): LockPair<Lock>[] {
    const pairs = [...(this.#pairs.get(lock) ?? [])];
    this.#pairs.delete(lock);
    for (const resource of lock.resources) {
      const held = this.#held.get(resource);
      held?.delete(lock);
      if (held?.size === 0) this.#held.delete(resource);
    }
    return pairs.filter(({ earlier, later }) => {
      if (this.#pairs.has(earlier) || this.#pairs.has(later)) return false;
      const marginMs = this.#marginMs(earlier, later);
      // Where clocks differ, the later lock may in truth have ended before the earlier one was granted.
      const isLaterFirst = later.heldUntilMs <= earlier.grantedAtMs + marginMs;
      return !isLaterFirst && later.grantedAtMs + marginMs < earlier.heldUntilMs;
    });
  }

  /** Ends all locks. */
  endAll(): LockPair<Lock>[] {
    return [...this.#pairs.keys()].flatMap((lock) => this.end(lock));
  }
}

/** How many locks of a resource the order of tokens remembers, at least. */
const remembered = 1_000;

/**
 * Finds tokens that do not grow while locks are granted. An attempt during which more than {@link remembered} other locks
 * were granted on its resource is compared with the newest of them, and with the largest token of the others.
 */
export class TokenOrder<Lock extends LockedTime> {
  readonly #marginMs: Margin<Lock>;
  readonly #isExempt: (earlier: Lock, later: Lock) => boolean;
  /** The locks of each resource in the order of grants, each with the largest token up to it. */
  readonly #granted = new Map<string, { readonly lock: Lock; readonly largest: number }[]>();

  /**
   * @param options.marginMs default 0
   * @param options.isExempt see {@link tokenFaultsOf}
   */
  constructor(options: { marginMs?: Margin<Lock>; isExempt?: ((earlier: Lock, later: Lock) => boolean) | undefined }) {
    this.#marginMs = options.marginMs ?? (() => 0);
    this.#isExempt = options.isExempt ?? (() => false);
  }

  /** Adds a lock, in the order of grants, and returns an earlier one whose token should be smaller, if there is one. */
  grant(later: Lock): LockPair<Lock> | undefined {
    const earlier = later.resources.map((resource) => this.#larger(resource, later)).find((lock) => lock !== undefined);
    for (const resource of later.resources) {
      const granted = this.#granted.get(resource) ?? [];
      this.#granted.set(resource, granted);
      granted.push({ lock: later, largest: Math.max(later.fence, granted.at(-1)?.largest ?? 0) });
      if (granted.length > 2 * remembered) forget(granted);
    }
    return earlier && { earlier, later };
  }

  /** Looks from the newest lock back, while tokens may be too large. */
  #larger(resource: string, later: Lock): Lock | undefined {
    const granted = this.#granted.get(resource) ?? [];
    for (let index = granted.length - 1; index >= 0; index--) {
      const { lock, largest } = granted[index] as (typeof granted)[number];
      if (largest < later.fence) return undefined;
      const isFault = lock.fence === later.fence ? !areShared(lock, later) : this.#isSmaller(lock, later);
      if (isFault && !this.#isExempt(lock, later)) return lock;
    }
    return undefined;
  }

  #isSmaller(earlier: Lock, later: Lock): boolean {
    const isBefore = earlier.grantedAtMs + this.#marginMs(earlier, later) < later.attemptAtMs;
    return isBefore && later.fence < earlier.fence;
  }
}

/** Replaces the oldest locks by the one with the largest token. */
function forget<Lock extends LockedTime>(granted: { readonly lock: Lock; readonly largest: number }[]): void {
  const oldest = granted.splice(0, remembered);
  const largest = oldest.findLast((entry) => entry.lock.fence === oldest.at(-1)?.largest);
  if (largest !== undefined) granted.unshift(largest);
}

function areShared(one: LockedTime, other: LockedTime): boolean {
  return one.mode === "shared" && other.mode === "shared";
}

function inOrder<Lock extends LockedTime>(locks: readonly Lock[]): Lock[] {
  return locks.toSorted((a, b) => a.grantedAtMs - b.grantedAtMs);
}
