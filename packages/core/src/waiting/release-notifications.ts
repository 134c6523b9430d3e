import type { RedlockContext } from "../context.ts";
import type { LockNode } from "../lock-node.ts";
import { majorityOf } from "../options.ts";
import type { Unwatch } from "../release-notifier.ts";

/** How long another process is given to take its turn, in milliseconds, at the least. */
const deferMsMin = 3;

/** For how many turns a process waits at the most when only some nodes have named it. */
const partialDefersMax = 30;

/** How often to ask at the most while the resource changes hands unannounced, in milliseconds between attempts. */
const pollLimitMsMin = 5;

/** For how long a process that announces nothing is remembered, in milliseconds. */
const silentMsMax = 10_000;

/** For how long this process has a resource that a silent one wants, and then leaves it alone, in milliseconds. */
const silentShareMs = 50;

/**
 * What the nodes notify of the releases of one resource that other processes want, too. If all processes tried whenever it
 * is released, they would split the vote. So the nodes keep waiting lists, and name the first waiter when they announce a
 * release: the process that a quorum names tries at once, and the others go on waiting. All this only says when to try. A
 * notification that is lost, late or wrong costs time, and no lock.
 */
export class ReleaseNotifications {
  readonly #context: RedlockContext;
  readonly #resource: string;
  readonly #onRelease: (delayMs: number | undefined) => void;
  /** How many nodes must have announced a release: with fewer, there is no quorum to be had. */
  readonly #needed: number;
  readonly #watches: (Promise<Unwatch | undefined> | undefined)[] = [];
  /** The nodes that have announced, since the last attempt began, that it is this process's turn, or anybody's. */
  readonly #namedBy = new Set<number>();
  #watching = 0;
  #deferMs = deferMsMin;
  #othersUntilMs = -Infinity;
  /** The end of the claim that was last in the way, unless a release was announced since. */
  #unannouncedEndMs: number | undefined;
  /** How often in a row the claim in the way was a new one. */
  #changes = 0;
  #silentUntilMs = -Infinity;
  #shareEndsMs = Infinity;
  /** The limit of the delays between attempts, in milliseconds: lower while the resource changes hands unannounced. */
  pollLimitMs: number = Infinity;

  /**
   * @param context the nodes
   * @param resource its name
   * @param onRelease called when another process has released it: in how many milliseconds it may be this process's turn,
   *   if it may
   */
  constructor(context: RedlockContext, resource: string, onRelease: (delayMs: number | undefined) => void) {
    const { nodes } = context;
    this.#context = context;
    this.#resource = resource;
    this.#onRelease = onRelease;
    this.#needed = Math.min(majorityOf(nodes.length), nodes.filter(({ watch }) => watch).length);
  }

  /** Whether so many nodes notify this process that it will not miss its turn. */
  get isWatching(): boolean {
    return this.#needed > 0 && this.#watching >= this.#needed;
  }

  /** How long to leave the resource to another process from now on, in milliseconds; 0 if it is not another's turn. */
  get deferMs(): number {
    return Math.max(0, this.#othersUntilMs - this.#context.clock.monotonicMs());
  }

  /** It is another process's turn. */
  deferToOthers(): void {
    this.#othersUntilMs = this.#context.clock.monotonicMs() + this.#deferMs;
  }

  /**
   * An attempt was denied.
   *
   * @param endMs when the claim in the way ends, on the monotonic clock
   * @param limitMs of the delays otherwise, in milliseconds
   */
  denied(endMs: number, limitMs: number): void {
    const before = this.#unannouncedEndMs;
    this.#unannouncedEndMs = endMs;
    if (before === undefined) return;
    this.#changes = endMs > before + 1 ? this.#changes + 1 : 0;
    // A single later end may be that of an extension.
    const factor = this.#changes > 1 ? 1 / 2 : 5 / 4;
    this.pollLimitMs = Math.max(pollLimitMsMin, Math.min(this.pollLimitMs, limitMs) * factor);
  }

  /** This process has the lock. If nobody has announced the end of what was in the way, a silent process wants it, too. */
  locked(): void {
    const nowMs = this.#context.clock.monotonicMs();
    if (this.#unannouncedEndMs !== undefined) this.#silentUntilMs = nowMs + silentMsMax;
    this.#unannouncedEndMs = undefined;
    if (this.#shareEndsMs === Infinity) this.#shareEndsMs = nowMs + silentShareMs;
  }

  /** This process has released the lock: a process that is not in the lists has to find the resource free now and then. */
  released(): void {
    const nowMs = this.#context.clock.monotonicMs();
    if (nowMs < this.#shareEndsMs) return;
    this.#shareEndsMs = Infinity;
    if (nowMs < this.#silentUntilMs) this.#othersUntilMs = nowMs + silentShareMs;
  }

  /** An attempt begins: later notifications count towards the next one. */
  beginAttempt(): void {
    this.#namedBy.clear();
  }

  /**
   * Begins to watch those nodes that are not watched yet.
   *
   * @param attemptMs how long an attempt takes
   */
  watch(attemptMs: number): void {
    this.#deferMs = Math.max(deferMsMin, 3 * attemptMs);
    for (const [index, node] of this.#context.nodes.entries()) this.#watches[index] ??= this.#watchNode(node, index);
  }

  /** Stops watching, for good. */
  stop(): void {
    for (const watch of this.#watches) watch?.then((unwatch) => unwatch?.()).catch(() => {});
  }

  async #watchNode(node: LockNode, index: number): Promise<Unwatch | undefined> {
    try {
      const unwatch = await node.watch?.([this.#resource], (_, next) => this.#onReleased(index, next));
      // A release that was announced before was missed.
      if (unwatch && ++this.#watching === this.#needed) this.#onRelease(0);
      return unwatch;
    } catch {
      this.#watches[index] = undefined; // the next attempt that fails tries again
      return undefined;
    }
  }

  #onReleased(index: number, next: string | undefined): void {
    this.#unannouncedEndMs = undefined;
    if (next !== undefined && next !== this.#context.waiterName) {
      this.deferToOthers();
      this.#onRelease(undefined);
      return;
    }
    // Without a name it is anybody's turn: the list is empty there.
    this.#namedBy.add(index);
    const named = this.#namedBy.size;
    // If nodes name different waiters there is no quorum; each named waiter retries after a random back-off.
    if (named < this.#needed) this.#onRelease((1 + Math.random() * partialDefersMax) * this.#deferMs);
    else this.#onRelease(named === this.#needed ? 0 : undefined);
  }
}
