import type { Clock, LockNode, Unwatch } from "@holdfast/core";
import type { Dice } from "../scenario/dice.ts";
import type { NodeCrash } from "../scenario/fault.ts";
import type { World } from "./world.ts";

/** What a node is made with. */
export interface NodeSite {
  /** The name that the node must have. */
  readonly name: string;
  /** The clocks by which the node must go. Jumps and drift strike them. */
  readonly clock: Pick<Clock, "monotonicMs" | "wallMs">;
  /** Random numbers from 0 to below 1, for a node that needs some: `Math.random` of its own, from the seed. */
  readonly random: () => number;
}

/**
 * Makes a lock node with no memory: called for each node of a simulated world, and again when one restarts without its
 * memory. The node must live in this process, and must answer without waiting for timers or real input.
 */
export type CreateNode = (site: NodeSite) => LockNode;

/** A watch that a client has set up on a node. */
export interface OpenWatch {
  /** The client's name. */
  readonly client: string;
  readonly resources: readonly string[];
  /** Lets the node know. */
  readonly close: Unwatch;
  /** Whether the client cannot end it, or has tried to in vain: a message was lost. */
  isExcused: boolean;
}

/** A machine on which a lock node runs. Its clocks are one and the same, as with Redis, which expires by its wall clock. */
export class NodeHost {
  readonly name: string;
  readonly #world: World;
  readonly #create: () => LockNode;
  readonly #tells: boolean;
  readonly #watches = new Set<OpenWatch>();
  #node: LockNode;
  #rate = 1;
  #offsetMs = 0;
  #upAtMs = 0;
  #lives = 0;
  #isSilent = false;

  /**
   * @param world where it stands
   * @param name the node's name
   * @param createNode makes the node
   * @param dice what its randomness comes from
   * @param tells whether its node may be watched, if it can be
   */
  constructor(world: World, name: string, createNode: CreateNode, dice: Dice, tells: boolean) {
    this.#world = world;
    this.#tells = tells;
    this.name = name;
    const clock = { monotonicMs: () => this.#clockMs(), wallMs: () => this.#clockMs() };
    this.#create = () => createNode({ name, clock, random: () => dice.next() });
    this.#node = this.#create();
  }

  /** The node as it is now. */
  get node(): LockNode {
    return this.#node;
  }

  /** How often it has crashed: what was sent to an earlier life does not reach this one. */
  get lives(): number {
    return this.#lives;
  }

  get isDown(): boolean {
    return this.#world.nowMs < this.#upAtMs;
  }

  /** Whether those who ask it while it is down hear nothing at all, as when the machine is gone. */
  get isSilent(): boolean {
    return this.#isSilent;
  }

  /** Whether its node tells what is released. */
  get isWatchable(): boolean {
    return this.#tells && this.#node.watch !== undefined;
  }

  /** The watches that clients have open here. */
  get watches(): Iterable<OpenWatch> {
    return this.#watches;
  }

  /** Sets up a watch, or tells why the node cannot. */
  async watch(
    client: string,
    resources: readonly string[],
    announce: (resource: string, next?: string) => void,
  ): Promise<OpenWatch | Error> {
    try {
      const isOpen = (): boolean => this.#watches.has(open);
      const close = await this.#node.watch?.(resources, (resource, next) => isOpen() && announce(resource, next));
      if (close === undefined) return new Error("there is no watch");
      const open: OpenWatch = { client, resources, close, isExcused: false };
      this.#watches.add(open);
      return open;
    } catch (error) {
      return new Error(String(error));
    }
  }

  /** Ends a watch. */
  unwatch(open: OpenWatch): void {
    if (!this.#watches.delete(open)) return;
    void Promise.resolve(open.close()).catch(() => {});
  }

  /** Forgets the watches of a client, or of all. Tells whether there were any. */
  forgetWatches(client?: string): boolean {
    const forgotten = [...this.#watches].filter((open) => client === undefined || open.client === client);
    for (const open of forgotten) this.unwatch(open);
    return forgotten.length > 0;
  }

  /** Stops for so long, and comes back with or without its memory, and without watches. */
  crash({ forMs, memory, isSilent, guardMs = 0 }: NodeCrash): void {
    this.#lives += 1;
    this.#upAtMs = Math.max(this.#upAtMs, this.#world.nowMs + forMs);
    this.#isSilent = isSilent;
    this.forgetWatches();
    if (memory === "kept") return;
    const votesAtMs = this.#upAtMs + guardMs;
    this.#node = recoveringNode(this.#create(), () => this.#world.nowMs >= votesAtMs);
  }

  /** Sets the clock forward, or back. */
  setClock(byMs: number): void {
    this.#offsetMs += byMs;
  }

  /** Lets the clock run faster than true time, or slower, from the beginning on. */
  drift(rate: number): void {
    this.#rate = rate;
  }

  #clockMs(): number {
    return this.#world.nowMs * this.#rate + this.#offsetMs;
  }
}

/**
 * A node that has forgotten everything, and counts for nobody until it is over, as with `restartGuardMs` of the Redis
 * adapters: it does not vote, and answers the extension of a claim that it has made again as if that had been just now.
 */
function recoveringNode(node: LockNode, isOver: () => boolean): LockNode {
  const madeAgain = new Set<string>();
  return {
    name: node.name,
    async acquire(request) {
      if (!isOver()) throw new Error("recovering from a restart");
      return node.acquire(request);
    },
    async extend(request) {
      const reply = await node.extend(request);
      if (isOver()) return reply;
      if (!reply.held && reply.rejoined) madeAgain.add(request.owner);
      return reply.held && madeAgain.has(request.owner) ? { held: false, rejoined: true } : reply;
    },
    release: (request) => node.release(request),
    ...(node.watch && { watch: (...args) => (node.watch as Required<LockNode>["watch"])(...args) }),
    ...(node.inspect && { inspect: (resource) => (node.inspect as Required<LockNode>["inspect"])(resource) }),
  };
}
