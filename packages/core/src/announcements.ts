import type { NodeSet } from "./errors.ts";
import type { LockNode } from "./lock-node.ts";
import type { Unwatch } from "./release-notifier.ts";

/** What to do on news about releases. */
export interface AnnouncementListener {
  /** Called when a node announces a release, with the waiter that it names, if any. */
  onReleased(node: LockNode, resource: string, next?: string): void;
  /** Called when enough nodes of one more set are watched. Releases before this moment may have been missed. */
  onWatching(): void;
}

/**
 * Watches resources on all nodes that can announce releases. Announcements only affect when to try or to look: a lost,
 * late or wrong one costs time, never a lock.
 */
export class Announcements {
  readonly #nodes: readonly LockNode[];
  readonly #sets: readonly NodeSet[];
  /** How many nodes of each set must announce a release before an attempt can get a quorum: all, if too few can. */
  readonly #needed: readonly number[];
  readonly #resources: readonly string[];
  readonly #listener: AnnouncementListener;
  readonly #watches: (Promise<Unwatch | undefined> | undefined)[] = [];
  /** The names of the watched nodes. */
  readonly watched: Set<string> = new Set();
  #isStopped = false;

  /**
   * @param nodes the nodes to watch
   * @param sets the sets of nodes, and how many are a quorum of each
   * @param resources the names of the resources
   * @param listener called until the announcements are stopped
   */
  constructor(
    nodes: readonly LockNode[],
    sets: readonly NodeSet[],
    resources: readonly string[],
    listener: AnnouncementListener,
  ) {
    const watchable = new Set(nodes.filter(({ watch }) => watch).map(({ name }) => name));
    this.#nodes = nodes;
    this.#sets = sets;
    this.#needed = sets.map((set) => Math.min(set.quorum, countIn(watchable, set)));
    this.#resources = resources;
    this.#listener = listener;
  }

  /** Whether enough nodes of each set are watched to notice every release, as long as they announce it. */
  get areComplete(): boolean {
    return this.isAnnouncedBy(this.watched);
  }

  /** Whether these nodes are enough of each set for an attempt to get its quorum. */
  isAnnouncedBy(names: ReadonlySet<string>): boolean {
    return this.setsReachedBy(names) === this.#sets.length;
  }

  /** Returns of how many sets these nodes are enough. */
  setsReachedBy(names: ReadonlySet<string>): number {
    return this.#sets.filter((set, index) => {
      const needed = this.#needed[index] as number;
      return needed > 0 && countIn(names, set) >= needed;
    }).length;
  }

  /** Watches the nodes that are not watched yet. */
  watch(): void {
    for (const [index, node] of this.#nodes.entries()) {
      if (this.#watches[index] !== undefined) continue;
      const watch = this.#watchNode(node);
      this.#watches[index] = watch;
      watch.catch(() => {
        this.#watches[index] = undefined; // the next call tries again
      });
    }
  }

  /** Stops watching permanently, also on the nodes that have not confirmed their watch yet. */
  stop(): void {
    this.#isStopped = true;
    for (const watch of this.#watches) watch?.then((unwatch) => unwatch?.()).catch(() => {});
  }

  async #watchNode(node: LockNode): Promise<Unwatch | undefined> {
    const unwatch = await node.watch?.(this.#resources, (resource, next) => {
      if (!this.#isStopped) this.#listener.onReleased(node, resource, next);
    });
    if (unwatch === undefined || this.#isStopped) return unwatch;
    const before = this.setsReachedBy(this.watched);
    if (this.setsReachedBy(this.watched.add(node.name)) > before) this.#listener.onWatching();
    return unwatch;
  }
}

function countIn(names: ReadonlySet<string>, { nodes }: NodeSet): number {
  return nodes.filter((name) => names.has(name)).length;
}
