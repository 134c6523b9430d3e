import { Announcements } from "../announcements.ts";
import type { RedlockContext } from "../context.ts";
import type { LockNode } from "../lock-node.ts";

/** The minimum time for which a resource is left to another process that was named, in milliseconds. */
const deferMinMs = 3;

/** The maximum back-off when only some nodes named this process, as a multiple of the time left to another one. */
const partialDefersMax = 30;

/** The minimum of the delay limit while the resource changes hands unannounced, in milliseconds. */
const pollLimitMinMs = 5;

/** How long a silent process, whose releases are not announced, is remembered, in milliseconds. */
const silentMaxMs = 10_000;

/**
 * How long this process uses a resource that a silent process wants, and then leaves it to that one, in milliseconds.
 */
const silentShareMs = 50;

/**
 * The nodes' notifications about one resource that other processes want as well. If every process tried on each
 * release, they would split the vote. So the nodes keep waiting lists, and name the first waiter when they announce a
 * release: the process that a quorum names tries immediately, and the others keep waiting. Notifications only affect
 * when to try. A lost, late or wrong one costs time, never a lock.
 */
export class ReleaseNotifications {
  readonly #context: RedlockContext;
  readonly #onRelease: (delayMs: number | undefined) => void;
  readonly #announcements: Announcements;
  /** The nodes that announced a release since the last attempt started and named this process, or no waiter at all. */
  readonly #namedBy = new Set<string>();
  #deferMs = deferMinMs;
  #othersUntilMs = -Infinity;
  /** When the last blocking claim ends, unless a release was announced since. */
  #unannouncedEndMs: number | undefined;
  /** How many consecutive denials were due to a new claim. */
  #changes = 0;
  #silentUntilMs = -Infinity;
  #shareEndsMs = Infinity;
  /**
   * The upper limit of delays between attempts, in milliseconds. Lower while the resource changes hands unannounced.
   */
  pollLimitMs: number = Infinity;

  /**
   * @param context the shared state of the `Redlock`
   * @param resource the name of the resource
   * @param onRelease called when another process has released the resource, with the delay in milliseconds after which
   *   to try, or undefined if this process should not try
   */
  constructor(context: RedlockContext, resource: string, onRelease: (delayMs: number | undefined) => void) {
    const { nodes, majority } = context;
    this.#context = context;
    this.#onRelease = onRelease;
    this.#announcements = new Announcements(nodes, majority.sets, [resource], {
      onReleased: (node, _, next) => this.#onReleased(node, next),
      onWatching: () => onRelease(0),
    });
  }

  /** Whether enough nodes are watched to notice every release. */
  get isWatching(): boolean {
    return this.#announcements.areComplete;
  }

  /** How much longer to leave the resource to another process, in milliseconds; 0 if none was named. */
  get deferMs(): number {
    return Math.max(0, this.#othersUntilMs - this.#context.clock.monotonicMs());
  }

  /** Leaves the resource to another process for a moment. */
  deferToOthers(): void {
    this.#othersUntilMs = this.#context.clock.monotonicMs() + this.#deferMs;
  }

  /**
   * Records that an attempt was denied, and adapts the limit of delays.
   *
   * @param endMs when the blocking claim ends, on the monotonic clock
   * @param limitMs the ordinary limit of delays, in milliseconds
   */
  denied(endMs: number, limitMs: number): void {
    const before = this.#unannouncedEndMs;
    this.#unannouncedEndMs = endMs;
    if (before === undefined) return;
    this.#changes = endMs > before + 1 ? this.#changes + 1 : 0;
    // A single later end may be due to an extension.
    const factor = this.#changes > 1 ? 1 / 2 : 5 / 4;
    this.pollLimitMs = Math.max(pollLimitMinMs, Math.min(this.pollLimitMs, limitMs) * factor);
  }

  /**
   * Records that this process got the lock. If nobody announced the previous release, a silent process wants it as
   * well.
   */
  locked(): void {
    const nowMs = this.#context.clock.monotonicMs();
    if (this.#unannouncedEndMs !== undefined) this.#silentUntilMs = nowMs + silentMaxMs;
    this.#unannouncedEndMs = undefined;
    if (this.#shareEndsMs === Infinity) this.#shareEndsMs = nowMs + silentShareMs;
  }

  /** Records a release by this process. From time to time, leaves the resource to a process that is not in the lists. */
  released(): void {
    const nowMs = this.#context.clock.monotonicMs();
    if (nowMs < this.#shareEndsMs) return;
    this.#shareEndsMs = Infinity;
    if (nowMs < this.#silentUntilMs) this.#othersUntilMs = nowMs + silentShareMs;
  }

  /** Records the start of an attempt. Later notifications count towards the next one. */
  beginAttempt(): void {
    this.#namedBy.clear();
  }

  /**
   * Watches the nodes that are not watched yet.
   *
   * @param attemptMs how long an attempt takes, in milliseconds
   */
  watch(attemptMs: number): void {
    this.#deferMs = Math.max(deferMinMs, 3 * attemptMs);
    this.#announcements.watch();
  }

  /** Stops watching permanently. */
  stop(): void {
    this.#announcements.stop();
  }

  #onReleased(node: LockNode, next: string | undefined): void {
    this.#unannouncedEndMs = undefined;
    if (next !== undefined && next !== this.#context.waiterName) {
      this.deferToOthers();
      this.#onRelease(undefined);
      return;
    }
    // Without a name, any process may try: the node's list is empty.
    const before = this.#announcements.setsReachedBy(this.#namedBy);
    const reached = this.#announcements.setsReachedBy(this.#namedBy.add(node.name));
    // If nodes name different waiters there is no quorum; each named waiter retries after a random back-off.
    if (reached === 0) this.#onRelease((1 + Math.random() * partialDefersMax) * this.#deferMs);
    // The other set follows immediately, unless the holder knew only this one.
    else if (reached > before) this.#onRelease(this.#announcements.isAnnouncedBy(this.#namedBy) ? 0 : this.#deferMs);
    else this.#onRelease(undefined);
  }
}
