import type { Lock, LockOptions, Redlock } from "@holdfast/core";

/** The maximum number of slots that one call tries at once. The requests of one tick mostly travel together. */
export const triesMax = 64;

/** How many released slots are remembered. */
const recentMax = 16;

/** The lock of one slot. */
export interface HeldSlot {
  readonly slot: number;
  readonly lock: Lock;
  /** How long the lock could be relied on when it was won, in milliseconds. */
  readonly validityMs: number;
}

/** The slots of one semaphore: how they are named, in which order they are tried, and which of them are in use here. */
export class Slots {
  /** The number of slots. */
  readonly count: number;
  readonly #redlock: Redlock;
  readonly #name: string;
  /** The slots that were released here last, the latest last: nobody else may have taken them yet. */
  readonly #recent: number[] = [];
  /** The slots that are held or tried here. */
  readonly #busy = new Set<number>();
  readonly #onLeft: (slot: number) => void;

  /**
   * @param redlock locks the slots
   * @param name the name of the semaphore
   * @param count the number of slots
   * @param onLeft called when a slot that was held here can be tried again
   */
  constructor(redlock: Redlock, name: string, count: number, onLeft: (slot: number) => void) {
    this.#redlock = redlock;
    this.#name = name;
    this.count = count;
    this.#onLeft = onLeft;
  }

  /** Returns the name of a slot's lock. */
  resourceOf(slot: number): string {
    return `sem:${this.#name}:${slot}`;
  }

  /** Returns the slots that are not in use here: those released here last, then the others in random order. */
  *inOrder(): Generator<number, void> {
    const recent = this.#recent.toReversed();
    for (const slot of recent) if (!this.#busy.has(slot)) yield slot;
    // Fisher and Yates's shuffle, drawn one by one: most calls need only the first slots of many.
    const moved = new Map<number, number>();
    for (let left = this.count; left > 0; left--) {
      const drawn = Math.floor(Math.random() * left);
      const slot = moved.get(drawn) ?? drawn;
      moved.set(drawn, moved.get(left - 1) ?? left - 1);
      if (!recent.includes(slot) && !this.#busy.has(slot)) yield slot;
    }
  }

  /** Returns those of the slots that are not in use here. */
  *idleOf(slots: readonly number[]): Generator<number, void> {
    for (const slot of slots) if (!this.#busy.has(slot)) yield slot;
  }

  /**
   * Tries slots until `wanted` of them are held, and adds those to `held`. Tries as many at once as are missing, then
   * twice as many each time, and releases what it has won beyond that.
   *
   * @param order the slots to try, in this order
   * @param triesLeft how many slots to try at most
   * @param held the slots held so far
   * @returns whether there are more slots to try
   * @throws the first error of a try. The slots that were won stay in `held`
   */
  async take(
    order: Iterator<number>,
    triesLeft: number,
    wanted: number,
    held: HeldSlot[],
    options: LockOptions,
  ): Promise<boolean> {
    let size = wanted - held.length;
    for (let left = triesLeft; held.length < wanted && left > 0; size *= 2) {
      const most = Math.min(size, left, triesMax);
      const round = nextOf(order, most);
      left -= round.length;
      for (const slot of round) this.#busy.add(slot);
      const tries = round.map((slot) => this.#redlock.tryAcquire(this.resourceOf(slot), options));
      const failures: unknown[] = [];
      for (const [index, result] of (await Promise.allSettled(tries)).entries()) {
        const slot = round[index] as number;
        const lock = result.status === "fulfilled" ? result.value : null;
        if (result.status === "rejected") failures.push(result.reason);
        if (lock === null) this.#drop(slot);
        else if (held.length < wanted) held.push({ slot, lock, validityMs: lock.remainingMs() });
        else void this.release({ slot, lock });
      }
      if (failures.length > 0) throw failures[0];
      if (round.length < most) return false;
    }
    return true;
  }

  /** Releases a slot without waiting longer than a release may take. Never throws. */
  async release({ slot, lock }: Pick<HeldSlot, "slot" | "lock">): Promise<void> {
    await lock.release().catch(() => {});
    this.left(slot);
  }

  /** Records that a slot is no longer held here, and can be tried again. */
  left(slot: number): void {
    this.#drop(slot);
    this.#recent.push(slot);
    if (this.#recent.length > recentMax) this.#recent.shift();
    this.#onLeft(slot);
  }

  #drop(slot: number): void {
    this.#busy.delete(slot);
    const index = this.#recent.indexOf(slot);
    if (index >= 0) this.#recent.splice(index, 1);
  }
}

function nextOf(order: Iterator<number>, count: number): number[] {
  const slots: number[] = [];
  while (slots.length < count) {
    const { done, value } = order.next();
    if (done) break;
    slots.push(value);
  }
  return slots;
}
