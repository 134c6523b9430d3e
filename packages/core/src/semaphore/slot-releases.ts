import type { Clock, LockNode, Redlock, Unwatch } from "@holdfast/core";
import type { Slots } from "./slots.ts";

/** The maximum number of slots to watch. Others are found by trying. */
const watchedMax = 64;

/** How long the slots stay watched after the last wait, in milliseconds: the next one often follows soon. */
const lingerMs = 1_000;

/**
 * Announcements of released slots, for the one caller of this process whose turn it is. They only decide when to try
 * which slot. A lost, late or wrong one costs time, never a permit.
 */
export class SlotReleases {
  readonly #redlock: Redlock;
  /** The numbers of the watched slots, by resource. */
  readonly #slots: ReadonlyMap<string, number>;
  /** How many nodes must announce a release before an attempt can get a quorum. */
  readonly #needed: number;
  /** The nodes that announced the release of a slot since it was last tried. */
  readonly #announcedBy = new Map<number, Set<number>>();
  readonly #released = new Set<number>();
  readonly #waiting = new Set<() => void>();
  #watches: (Promise<Unwatch | undefined> | undefined)[] = [];
  #watching = 0;
  #users = 0;
  #cancelLinger: (() => void) | undefined;

  /**
   * @param redlock has the nodes to watch
   * @param slots the slots: as many as possible of them are watched, in random order
   */
  constructor(redlock: Redlock, slots: Slots) {
    this.#redlock = redlock;
    const watched = new Map<string, number>();
    for (const slot of slots.inOrder()) {
      if (watched.size === watchedMax) break;
      watched.set(slots.resourceOf(slot), slot);
    }
    this.#slots = watched;
    const watchable = redlock.nodes.filter(({ watch }) => watch).length;
    this.#needed = Math.min(Math.floor(redlock.nodes.length / 2) + 1, watchable);
  }

  /** Whether enough nodes are watched to notice every release of a watched slot. */
  get isWatching(): boolean {
    return this.#needed > 0 && this.#watching >= this.#needed;
  }

  /** Keeps the slots watched, once {@link SlotReleases.watch} is called, until the returned function is called. */
  use(): () => void {
    this.#users += 1;
    this.#cancelLinger?.();
    this.#cancelLinger = undefined;
    return () => {
      this.#users -= 1;
      if (this.#users > 0 || this.#watches.length === 0) return;
      this.#cancelLinger = this.#redlock.clock.startTimer(lingerMs, () => this.#stop(), { background: true });
    };
  }

  /** Watches the nodes that are not watched yet. */
  watch(): void {
    const resources = [...this.#slots.keys()];
    for (const [index, node] of this.#redlock.nodes.entries()) {
      this.#watches[index] ??= this.#watchNode(node, index, resources, this.#watches);
    }
  }

  /** Returns the slots that were released since the last call of this method. */
  takeReleased(): readonly number[] {
    const released = [...this.#released];
    this.#released.clear();
    for (const slot of released) this.#announcedBy.delete(slot);
    return released;
  }

  /** Records a release by this process, whether or not the nodes announce it. */
  releasedHere(slot: number): void {
    if (this.#users === 0) return;
    this.#released.add(slot);
    this.#wake();
  }

  /** Resolves when a slot was released, after `delayMs`, or when one of the signals aborts. */
  async wait(delayMs: number, signals: readonly (AbortSignal | undefined)[]): Promise<void> {
    if (this.#released.size > 0) return;
    let wake = (): void => {};
    const woken = new Promise<void>((resolve) => {
      wake = resolve;
    });
    this.#waiting.add(wake);
    await atMost(this.#redlock.clock, delayMs, signals, woken);
    this.#waiting.delete(wake);
  }

  #wake(): void {
    for (const wake of this.#waiting) wake();
  }

  async #watchNode(
    node: LockNode,
    index: number,
    resources: readonly string[],
    watches: (Promise<Unwatch | undefined> | undefined)[],
  ): Promise<Unwatch | undefined> {
    try {
      const unwatch = await node.watch?.(resources, (resource) => this.#onReleased(index, resource));
      if (unwatch === undefined || watches !== this.#watches) return unwatch;
      this.#watching += 1;
      // Releases before this moment may have been missed.
      if (this.#watching === this.#needed) for (const slot of this.#slots.values()) this.#released.add(slot);
      this.#wake();
      return unwatch;
    } catch {
      watches[index] = undefined; // the next call of watch() tries again
      return undefined;
    }
  }

  #onReleased(index: number, resource: string): void {
    const slot = this.#slots.get(resource);
    if (slot === undefined || this.#users === 0) return;
    const nodes = this.#announcedBy.get(slot) ?? new Set();
    this.#announcedBy.set(slot, nodes.add(index));
    if (nodes.size < this.#needed) return;
    this.#released.add(slot);
    this.#wake();
  }

  #stop(): void {
    for (const watch of this.#watches) watch?.then((unwatch) => unwatch?.()).catch(() => {});
    this.#watches = [];
    this.#watching = 0;
    this.#announcedBy.clear();
    this.#released.clear();
  }
}

/** Resolves when `work` settles, after `delayMs`, or when one of the signals aborts. */
export function atMost(
  clock: Clock,
  delayMs: number,
  signals: readonly (AbortSignal | undefined)[],
  work: Promise<unknown>,
): Promise<void> {
  if (signals.some((signal) => signal?.aborted)) return Promise.resolve();
  return new Promise((resolve) => {
    const end = (): void => {
      cancelTimer();
      for (const signal of signals) signal?.removeEventListener("abort", end);
      resolve();
    };
    const cancelTimer = clock.startTimer(delayMs, end);
    for (const signal of signals) signal?.addEventListener("abort", end);
    work.then(end, end);
  });
}
