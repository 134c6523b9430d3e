import type { Ensemble } from "../claim.ts";
import type { LockNode, Unwatch } from "../lock-node.ts";
import { majorityOf } from "../quorum.ts";

/** How long somebody is given to take its turn, in milliseconds, at the least. */
const turnMsMin = 3;

/** For how many turns somebody waits at the most whom only some nodes have named. */
const partTurnsMax = 30;

/**
 * The other processes that want a resource, as far as this one can tell. If all of them tried whenever it is released,
 * they would split the vote. So the nodes keep lines, and name the first in them when they announce a release: whom a quorum
 * names tries at once, and the others go on waiting. All this only says when to try: what is lost, late or wrong costs
 * time, and no lock.
 */
export class Rivals {
  readonly #ensemble: Ensemble;
  readonly #resource: string;
  readonly #onTurn: (delayMs: number) => void;
  /** How many nodes must have announced a release: with fewer, there is no quorum to be had. */
  readonly #needed: number;
  readonly #watches: (Promise<Unwatch | undefined> | undefined)[] = [];
  /** The nodes that have announced, since the last attempt began, that it is this process's turn, or anybody's. */
  readonly #turnOn = new Set<LockNode>();
  #watching = 0;
  #turnMs = turnMsMin;
  #othersUntilMs = -Infinity;

  /**
   * @param ensemble the nodes
   * @param resource what they want
   * @param onTurn is called when it is this process's turn, or may be in so many milliseconds
   */
  constructor(ensemble: Ensemble, resource: string, onTurn: (delayMs: number) => void) {
    const { nodes } = ensemble;
    this.#ensemble = ensemble;
    this.#resource = resource;
    this.#onTurn = onTurn;
    this.#needed = Math.min(majorityOf(nodes.length), nodes.filter(({ watch }) => watch).length);
  }

  /** Whether so many nodes tell of releases that a turn will not be missed. */
  get isWatching(): boolean {
    return this.#needed > 0 && this.#watching >= this.#needed;
  }

  /** How long to leave the resource to somebody else from now on, in milliseconds. */
  get courtesyMs(): number {
    return Math.max(0, this.#othersUntilMs - this.#ensemble.clock.monotonicMs());
  }

  /** It is somebody else's turn. */
  giveWay(): void {
    this.#othersUntilMs = this.#ensemble.clock.monotonicMs() + this.#turnMs;
  }

  /** An attempt begins: what is announced from now on counts for the time after it. */
  beginAttempt(): void {
    this.#turnOn.clear();
  }

  /**
   * Begins to listen to those nodes that it does not listen to yet.
   *
   * @param attemptMs how long an attempt takes
   */
  watch(attemptMs: number): void {
    this.#turnMs = Math.max(turnMsMin, 3 * attemptMs);
    for (const [index, node] of this.#ensemble.nodes.entries()) this.#watches[index] ??= this.#watchNode(node, index);
  }

  /** Stops listening, for good. */
  stop(): void {
    for (const watch of this.#watches) watch?.then((unwatch) => unwatch?.()).catch(() => {});
  }

  async #watchNode(node: LockNode, index: number): Promise<Unwatch | undefined> {
    try {
      const unwatch = await node.watch?.([this.#resource], (_, next) => this.#hear(node, next));
      // What was announced before went unheard.
      if (unwatch && ++this.#watching === this.#needed) this.#onTurn(0);
      return unwatch;
    } catch {
      this.#watches[index] = undefined; // the next attempt that is lost tries again
      return undefined;
    }
  }

  #hear(node: LockNode, next: string | undefined): void {
    // Without a name it is anybody's turn: nobody stands in line there.
    if (next === undefined || next === this.#ensemble.waiter) {
      this.#turnOn.add(node);
      // Where the lines of the nodes differ, no quorum names anybody: then those who are named by some try one by one.
      if (this.#turnOn.size <= this.#needed) {
        this.#onTurn(this.#turnOn.size < this.#needed ? (1 + Math.random() * partTurnsMax) * this.#turnMs : 0);
      }
    } else this.giveWay();
  }
}
