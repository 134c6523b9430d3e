import type { Redlock } from "@holdfast/core";
import { Announcements } from "../announcements.ts";
import { Pause } from "../pause.ts";
import type { Slots } from "./slots.ts";

/** The maximum number of slots to watch. Others are found by trying. */
const watchedMax = 64;

/** How long the slots stay watched after the last wait, in milliseconds: the next one often follows soon. */
const lingerMs = 1_000;

/**
 * Announcements of released slots, for the one caller of this process whose turn it is. They only decide when to try
 * which slot.
 */
export class SlotReleases {
  readonly #redlock: Redlock;
  /** The numbers of the watched slots, by resource. */
  readonly #slots: ReadonlyMap<string, number>;
  /** The names of the nodes that announced the release of a slot since it was last tried. */
  readonly #announcedBy = new Map<number, Set<string>>();
  readonly #released = new Set<number>();
  readonly #pauses = new Set<Pause>();
  /** Once {@link SlotReleases.watch} was called, until the slots have not been used for a while. */
  #announcements: Announcements | undefined;
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
  }

  /** Whether enough nodes are watched to notice every release of a watched slot. */
  get isWatching(): boolean {
    return this.#announcements?.areComplete ?? false;
  }

  /** Keeps the slots watched, once {@link SlotReleases.watch} is called, until the returned function is called. */
  use(): () => void {
    this.#users += 1;
    this.#cancelLinger?.();
    this.#cancelLinger = undefined;
    return () => {
      this.#users -= 1;
      if (this.#users > 0 || this.#announcements === undefined) return;
      this.#cancelLinger = this.#redlock.clock.startTimer(lingerMs, () => this.#stop(), { background: true });
    };
  }

  /** Watches the nodes that are not watched yet. */
  watch(): void {
    const { nodes, sets } = this.#redlock;
    this.#announcements ??= new Announcements(nodes, sets, [...this.#slots.keys()], {
      onReleased: ({ name }, resource) => this.#onReleased(name, this.#slots.get(resource)),
      onWatching: () => this.#wakeFor(this.#slots.values()),
    });
    this.#announcements.watch();
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
    if (this.#users > 0) this.#wakeFor([slot]);
  }

  /** Resolves when a slot was released, after `delayMs`, or when one of the signals aborts. */
  async wait(delayMs: number, signals: readonly (AbortSignal | undefined)[]): Promise<void> {
    if (this.#released.size > 0) return;
    const pause = new Pause(this.#redlock.clock);
    this.#pauses.add(pause);
    await pause.wait(delayMs, ...signals);
    this.#pauses.delete(pause);
  }

  #onReleased(node: string, slot: number | undefined): void {
    if (slot === undefined || this.#users === 0) return;
    const nodes = (this.#announcedBy.get(slot) ?? new Set()).add(node);
    this.#announcedBy.set(slot, nodes);
    if (this.#announcements?.isAnnouncedBy(nodes)) this.#wakeFor([slot]);
  }

  #wakeFor(released: Iterable<number>): void {
    for (const slot of released) this.#released.add(slot);
    for (const pause of this.#pauses) pause.wake();
  }

  #stop(): void {
    this.#announcements?.stop();
    this.#announcements = undefined;
    this.#announcedBy.clear();
    this.#released.clear();
  }
}
