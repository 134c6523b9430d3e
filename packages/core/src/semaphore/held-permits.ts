import type { Clock, ExtendOptions, LockLostError } from "@holdfast/core";
import type { Permits, SemaphoreObserver, Slot } from "./api.ts";
import type { HeldSlot, Slots } from "./slots.ts";

/** The parts of a semaphore that its permits use. */
export interface PermitsContext {
  readonly name: string;
  readonly slots: Slots;
  readonly clock: Clock;
  readonly observer: SemaphoreObserver;
}

/** The implementation of {@link Permits}. */
export class HeldPermits implements Permits {
  readonly name: string;
  readonly slots: readonly Slot[];
  readonly #context: PermitsContext;
  readonly #held: readonly HeldSlot[];
  readonly #acquiredAtMs: number;
  readonly #controller = new AbortController();
  /** The slots that were lost. */
  readonly #lost = new Set<number>();
  #isReleased = false;

  /**
   * @param context the semaphore
   * @param held the slots
   */
  constructor(context: PermitsContext, held: readonly HeldSlot[]) {
    const sorted = [...held].sort((a, b) => a.slot - b.slot);
    this.name = context.name;
    this.slots = sorted.map(({ slot, lock: { resources, fence, owner } }) => {
      return { slot, resource: resources[0] as string, fence, owner };
    });
    this.#context = context;
    this.#held = sorted;
    this.#acquiredAtMs = context.clock.monotonicMs();
    for (const { slot, lock } of sorted) {
      const { signal } = lock;
      const onLost = (): void => this.#onLost(slot, signal.reason);
      if (signal.aborted) onLost();
      else signal.addEventListener("abort", onLost, { once: true });
    }
  }

  get signal(): AbortSignal {
    this.remainingMs();
    return this.#controller.signal;
  }

  remainingMs(): number {
    return Math.min(...this.#held.map(({ lock }) => lock.remainingMs()));
  }

  async extend(options?: ExtendOptions): Promise<void> {
    await Promise.all(this.#held.map(({ lock }) => lock.extend(options)));
  }

  async release(): Promise<void> {
    const isFirst = !this.#isReleased;
    this.#isReleased = true;
    const heldMs = this.#heldMs();
    // A lock whose release too few nodes have confirmed sends it again.
    const releases = this.#held.map(async ({ slot, lock }) => {
      try {
        await lock.release();
      } finally {
        if (isFirst && !this.#lost.has(slot)) this.#context.slots.left(slot);
      }
    });
    const failure = (await Promise.allSettled(releases)).find((result) => result.status === "rejected");
    const { name, slots } = this;
    if (isFirst) this.#context.observer.released?.({ name, slots, heldMs, confirmed: failure === undefined });
    if (failure !== undefined) throw failure.reason;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // The locks know whether to wait.
    const disposed = this.#held.map(({ lock }) => lock[Symbol.asyncDispose]());
    this.release().catch(() => {});
    await Promise.all(disposed);
  }

  #onLost(slot: number, error: LockLostError): void {
    this.#lost.add(slot);
    this.#context.slots.left(slot);
    if (this.#controller.signal.aborted) return;
    this.#controller.abort(error);
    const { name, slots } = this;
    this.#context.observer.lost?.({ name, slots, heldMs: this.#heldMs(), error });
  }

  #heldMs(): number {
    return this.#context.clock.monotonicMs() - this.#acquiredAtMs;
  }
}
