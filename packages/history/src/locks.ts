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
  const tokens = new TokenOrder<Lock>(undefined, isExempt);
  return inOrder(locks).flatMap((lock) => tokens.grant(lock) ?? []);
}

/** Whether the clocks can tell that a time under one lock was before a time under another. */
export type IsBefore<Lock> = (one: Lock, oneMs: number, other: Lock, otherMs: number) => boolean;

/** On one clock, they always can. */
const isBeforeOnOneClock = (_one: unknown, oneMs: number, _other: unknown, otherMs: number): boolean => oneMs < otherMs;

/** Finds overlaps while locks are granted. It remembers only locks that may still be held. */
export class Exclusion<Lock extends LockedTime> {
  readonly #isBefore: IsBefore<Lock>;
  readonly #isOver: (earlier: Lock, later: Lock) => boolean;
  /** The locks of each resource in the order of grants. */
  readonly #held = new Map<string, Lock[]>();

  /**
   * @param isBefore default: on one clock
   * @param isOver whether the end of a lock is final, and lies before the grant of a later one. Default: on one clock
   */
  constructor(
    isBefore: IsBefore<Lock> = isBeforeOnOneClock,
    isOver: (earlier: Lock, later: Lock) => boolean = (earlier, later) => earlier.heldUntilMs < later.grantedAtMs,
  ) {
    this.#isBefore = isBefore;
    this.#isOver = isOver;
  }

  /** Adds a lock, in the order of grants. Returns the overlaps of locks that are over. */
  grant(later: Lock): LockPair<Lock>[] {
    return later.resources.flatMap((resource) => {
      const held = this.#held.get(resource) ?? [];
      this.#held.set(resource, held);
      const found = held.filter((lock) => this.#isOver(lock, later)).flatMap((lock) => this.#forget(lock, resource));
      held.push(later);
      return found;
    });
  }

  /** Ends all locks. */
  endAll(): LockPair<Lock>[] {
    return [...this.#held].flatMap(([resource, held]) => [...held].flatMap((lock) => this.#forget(lock, resource)));
  }

  /** Forgets a lock, and returns its overlaps with those that are remembered. */
  #forget(lock: Lock, resource: string): LockPair<Lock>[] {
    const held = this.#held.get(resource) ?? [];
    const index = held.indexOf(lock);
    held.splice(index, 1);
    const pairs = held.map((other, at) =>
      at < index ? { earlier: other, later: lock } : { earlier: lock, later: other },
    );
    return pairs.filter(({ earlier, later }) => {
      if (areShared(earlier, later) || commonOf(earlier, later) !== resource) return false;
      // Where clocks differ, the later lock may in truth have ended before the earlier one was granted.
      return (
        this.#isBefore(later, later.grantedAtMs, earlier, earlier.heldUntilMs) &&
        this.#isBefore(earlier, earlier.grantedAtMs, later, later.heldUntilMs)
      );
    });
  }
}

/** How many locks of a resource the order of tokens remembers, besides the one with the largest token. */
const remembered = 1_000;

/** Finds tokens that do not grow while locks are granted. */
export class TokenOrder<Lock extends LockedTime> {
  readonly #isBefore: IsBefore<Lock>;
  readonly #isExempt: (earlier: Lock, later: Lock) => boolean;
  /** The latest locks of each resource, and of all its locks the one with the largest token. */
  readonly #granted = new Map<string, { readonly latest: Lock[]; largest: Lock }>();

  /**
   * @param isBefore default: on one clock
   * @param isExempt see {@link tokenFaultsOf}
   */
  constructor(
    isBefore: IsBefore<Lock> = isBeforeOnOneClock,
    isExempt: (earlier: Lock, later: Lock) => boolean = () => false,
  ) {
    this.#isBefore = isBefore;
    this.#isExempt = isExempt;
  }

  /** Adds a lock, in the order of grants, and returns an earlier one whose token should be smaller, if there is one. */
  grant(later: Lock): LockPair<Lock> | undefined {
    const [earlier] = later.resources.flatMap((resource) => this.#larger(resource, later) ?? []);
    return earlier && { earlier, later };
  }

  #larger(resource: string, later: Lock): Lock | undefined {
    const granted = this.#granted.get(resource) ?? { latest: [], largest: later };
    this.#granted.set(resource, granted);
    const { latest, largest } = granted;
    const mayBeLarger = largest.fence >= later.fence ? [largest, ...latest] : [];
    const found = mayBeLarger.findLast((lock) => lock !== later && this.#isFault(lock, later));
    if (later.fence > largest.fence) granted.largest = later;
    if (latest.push(later) > remembered) latest.shift();
    return found;
  }

  #isFault(earlier: Lock, later: Lock): boolean {
    const isWrong =
      earlier.fence === later.fence
        ? !areShared(earlier, later)
        : earlier.fence > later.fence && this.#isBefore(earlier, earlier.grantedAtMs, later, later.attemptAtMs);
    return isWrong && !this.#isExempt(earlier, later);
  }
}

/** Returns the first resource that two locks have in common. */
export function commonOf(one: LockedTime, other: LockedTime): string | undefined {
  return one.resources.find((resource) => other.resources.includes(resource));
}

function areShared(one: LockedTime, other: LockedTime): boolean {
  return one.mode === "shared" && other.mode === "shared";
}

function inOrder<Lock extends LockedTime>(locks: readonly Lock[]): Lock[] {
  return locks.toSorted((a, b) => a.grantedAtMs - b.grantedAtMs);
}
