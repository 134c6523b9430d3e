import type { Clock } from "@holdfast/core";
import type { LockNode, NodeView, Unwatch } from "@holdfast/core/node";
import type { CounterLoss } from "../history/history.ts";
import type { Dice } from "../scenario/dice.ts";
import type { NodeCrash } from "../scenario/fault.ts";
import type { FullSettings } from "../scenario/scenario.ts";
import type { World } from "./world.ts";

/** What `createNode` gets for each node. */
export interface NodeSite {
  /** The name that the node must have. */
  readonly name: string;
  /** The clocks that the node must read. Clock faults (jumps, drift) affect them. */
  readonly clock: Pick<Clock, "monotonicMs" | "wallMs">;
  /** Returns random numbers from 0 to below 1 that follow from the seed. Use it instead of `Math.random`. */
  readonly random: () => number;
  /** How many fence counters the resources of the node share; `Infinity` if each has its own. A node may ignore it. */
  readonly counters: number;
}

/**
 * Creates an empty lock node. Called for each node of a simulated world, and again when a node restarts without its
 * memory. The node must live in this process and reply without waiting for timers or real I/O.
 */
export type CreateNode = (site: NodeSite) => LockNode;

/** A watch that a client has set up on a node. */
export interface OpenWatch {
  /** The client's name. */
  readonly client: string;
  readonly resources: readonly string[];
  /** Ends the watch on the node. */
  readonly close: Unwatch;
  /** Whether the watch may stay open at the end of the run, because a message that would have ended it was lost. */
  isExcused: boolean;
}

/** An {@link CounterLoss} that may not be over. */
export type OpenLoss = { -readonly [Name in keyof CounterLoss]: CounterLoss[Name] };

/** Returns the owners of all claims on a resource. */
export function holdersIn(view: NodeView | undefined): readonly string[] {
  if (view?.sharers !== undefined) return view.sharers.map(({ owner }) => owner);
  return view?.owner ? [view.owner] : [];
}

/** A machine that runs a lock node. It has a single clock, as in Redis, which expires keys by its wall clock. */
export class NodeHost {
  readonly name: string;
  readonly #world: World;
  readonly #create: () => LockNode;
  readonly #canBeWatched: boolean;
  /** The watches that clients have open here. */
  readonly watches: Set<OpenWatch> = new Set();
  /** The node that is running at present. */
  node: LockNode;
  /** How often it has crashed. A message sent before a crash does not arrive after it. */
  lives = 0;
  /** When it is up again. */
  upAtMs = 0;
  /** Whether requests get no reply at all while it is down, as when the machine is gone, instead of an error. */
  isSilent = false;
  /** The time during which it lacks its counters, if an operator is to heal it. */
  loss: OpenLoss | undefined;
  /** When it lost its memory the last time, if no operator is to heal it. */
  lostAtMs: number | undefined;
  #rate = 1;
  #offsetMs = 0;
  #wallOffsetMs = 0;

  /**
   * @param world the world that it is part of
   * @param name the node's name
   * @param createNode creates the node
   * @param dice the source of its random numbers
   * @param settings which nodes clients cannot watch, and how many counters each node has
   */
  constructor(
    world: World,
    name: string,
    createNode: CreateNode,
    dice: Dice,
    { unwatchable, counters }: Pick<FullSettings, "unwatchable" | "counters">,
  ) {
    this.#world = world;
    this.#canBeWatched = !unwatchable.includes(name);
    this.name = name;
    const clock = { monotonicMs: () => this.#clockMs(), wallMs: () => this.#clockMs() + this.#wallOffsetMs };
    this.#create = () => createNode({ name, clock, random: () => dice.next(), counters });
    this.node = this.#create();
  }

  get isDown(): boolean {
    return this.#world.nowMs < this.upAtMs;
  }

  /** Whether clients can watch its node for releases. */
  get isWatchable(): boolean {
    return this.#canBeWatched && this.node.watch !== undefined;
  }

  /** Starts a watch. Rejects if the node cannot. */
  async watch(
    client: string,
    resources: readonly string[],
    announce: (resource: string, next?: string) => void,
  ): Promise<OpenWatch> {
    const isOpen = (): boolean => this.watches.has(open);
    const close = await this.node.watch?.(resources, (resource, next) => isOpen() && announce(resource, next));
    if (close === undefined) throw new Error("the node has no watch()");
    const open: OpenWatch = { client, resources, close, isExcused: false };
    this.watches.add(open);
    return open;
  }

  /** Ends a watch. */
  unwatch(open: OpenWatch): void {
    if (!this.watches.delete(open)) return;
    void Promise.resolve(open.close()).catch(() => {});
  }

  /** Drops the watches of one client, or of all clients. Returns whether there were any. */
  forgetWatches(client?: string): boolean {
    const forgotten = [...this.watches].filter((open) => client === undefined || open.client === client);
    for (const open of forgotten) this.unwatch(open);
    return forgotten.length > 0;
  }

  /** Ends its present loss of counters: an operator has healed it. */
  heal(): void {
    if (this.loss !== undefined) this.loss.healedAtMs = this.#world.nowMs;
    this.loss = undefined;
  }

  /** Stops the node for `forMs`. It restarts with or without its memory, and without watches. */
  crash({ forMs, memory, isSilent, guardMs = 0, healed }: NodeCrash): void {
    this.lives += 1;
    this.upAtMs = Math.max(this.upAtMs, this.#world.nowMs + forMs);
    this.isSilent = isSilent;
    this.forgetWatches();
    if (memory === "kept") return;
    const votesAtMs = this.upAtMs + guardMs;
    const waits = healed === "before it votes";
    const times = { lostAtMs: this.#world.nowMs, votesFromMs: waits ? undefined : votesAtMs, healedAtMs: undefined };
    const loss: OpenLoss | undefined = healed && { node: this.name, ...times };
    this.loss = loss;
    this.lostAtMs = healed === undefined ? this.#world.nowMs : undefined;
    const isOver = (): boolean =>
      this.#world.nowMs >= votesAtMs && !(waits && this.loss !== undefined && this.loss === loss);
    this.node = recoveringNode(this.#create(), isOver);
  }

  /**
   * Sets the clock forward, or back if `byMs` is negative. A clock that is wrong from the start expires claims correctly, so
   * only the wall clock shows it.
   */
  setClock(byMs: number): void {
    if (this.#world.nowMs === 0) this.#wallOffsetMs += byMs;
    else this.#offsetMs += byMs;
  }

  /** Sets the rate of the clock relative to true time, counted from the start of the run. */
  drift(rate: number): void {
    this.#rate = rate;
  }

  #clockMs(): number {
    return this.#world.nowMs * this.#rate + this.#offsetMs;
  }
}

/**
 * A node that has lost its memory and stays out of every quorum until `isOver()`, as with `restartGuardMs` of the Redis
 * adapters: it rejects `acquire`, and answers each extension of a claim that it has rejoined with `rejoined` again. It
 * also rejects `scan`, as its counters do not show what it has granted.
 */
function recoveringNode(node: LockNode, isOver: () => boolean): LockNode {
  const rejoinedOwners = new Set<string>();
  return {
    name: node.name,
    async acquire(request) {
      if (!isOver()) throw new Error("recovering from a restart");
      return node.acquire(request);
    },
    async extend(request) {
      const reply = await node.extend(request);
      if (isOver()) return reply;
      if (!reply.held && reply.rejoined) rejoinedOwners.add(request.owner);
      return reply.held && rejoinedOwners.has(request.owner) ? { held: false, rejoined: true } : reply;
    },
    release: (request) => node.release(request),
    ...(node.watch && { watch: (...args) => (node.watch as Required<LockNode>["watch"])(...args) }),
    ...(node.raiseFloor && { raiseFloor: (request) => (node.raiseFloor as Required<LockNode>["raiseFloor"])(request) }),
    ...(node.scan && {
      async scan(request) {
        if (!isOver()) throw new Error("recovering from a restart");
        return (node.scan as Required<LockNode>["scan"])(request);
      },
    }),
    ...(node.inspect && { inspect: (resource) => (node.inspect as Required<LockNode>["inspect"])(resource) }),
  };
}
