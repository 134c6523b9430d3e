import { assertOptions, checkInteger, describeValue, wrong } from "./arguments.ts";
import type { LockNode } from "./lock-node.ts";

/**
 * The nodes while the servers change: a lock needs a quorum of the old set and a quorum of the new set, so it excludes
 * the clients that know only one of them (joint consensus: Ongaro and Ousterhout, "In Search of an Understandable
 * Consensus Algorithm", section 6). A node that is in both sets is the same object in both.
 */
export interface JointSet {
  /** The set before the change. */
  readonly old: readonly LockNode[];
  /** The set after the change. */
  readonly new: readonly LockNode[];
}

/** A set of nodes of which each lock has a quorum. */
export interface NodeSet {
  /** The names of the nodes. */
  readonly nodes: readonly string[];
  /** How many of them are a quorum. */
  readonly quorum: number;
}

/**
 * Returns the smallest quorum of N nodes: ⌊N/2⌋+1, so that any two quorums share a node (distlock page, "The Redlock
 * Algorithm", step 3).
 */
export function majorityOf(nodeCount: number): number {
  return Math.floor(nodeCount / 2) + 1;
}

/**
 * Returns whether this many nodes are a quorum. Both numbers are counts of {@link NodeSets}: while servers change, each
 * packs a number for the new set, above 16 bits for the old one.
 */
export function reaches(count: number, quorum: number): boolean {
  return (count & 0xffff) >= (quorum & 0xffff) && count >>> 16 >= quorum >>> 16;
}

/** The sets of nodes of a `Redlock`: one, or two while the servers change. Counts the nodes of both at once. */
export class NodeSets {
  /** All nodes, each once. */
  readonly nodes: readonly LockNode[];
  /** The majority of each set. */
  readonly majority: number;
  readonly isJoint: boolean;
  readonly #sets: readonly (readonly LockNode[])[];
  readonly #names: readonly (readonly string[])[];

  /**
   * @param given the nodes, or those before and after a change
   * @throws {TypeError} unless these are lists of lock nodes
   * @throws {RangeError} for an empty list, or a duplicate node or name: the node would vote twice
   */
  constructor(given: readonly LockNode[] | JointSet) {
    this.isJoint = Object.hasOwn(Object(given), "old") || Object.hasOwn(Object(given), "new");
    if (this.isJoint) {
      const { old, new: next } = given as JointSet;
      assertOptions(given, ["old", "new"], "a joint set");
      this.#sets = [parseNodes(old, "old"), parseNodes(next, "new")];
      this.nodes = parseNodes([...new Set([...old, ...next])]);
    } else {
      this.nodes = parseNodes(given as readonly LockNode[]);
      this.#sets = [this.nodes];
    }
    this.#names = this.#sets.map((set) => set.map(({ name }) => name));
    this.majority = packed(this.#sets.map(({ length }) => majorityOf(length)));
  }

  /** Returns how much a node adds to a count. */
  weightOf(node: LockNode): number {
    return this.isJoint ? packed(this.#sets.map((set) => (set.includes(node) ? 1 : 0))) : 1;
  }

  /** Returns the count of these nodes. */
  countOf(nodes: readonly LockNode[]): number {
    return this.isJoint ? nodes.reduce((count, node) => count + this.weightOf(node), 0) : nodes.length;
  }

  /** Returns the sets, with the part of a quorum that each needs. */
  withQuorum(quorum: number): readonly NodeSet[] {
    return this.#names.map((nodes, index) => ({ nodes, quorum: (quorum >>> (16 * index)) & 0xffff }));
  }
}

/** Packs a number for each set. */
function packed([first = 0, second = 0]: readonly number[]): number {
  return first + second * 0x10000;
}

/**
 * Checks the nodes and returns a frozen copy of the list.
 *
 * @throws {TypeError} unless this is a list of lock nodes
 * @throws {RangeError} for an empty list, or a duplicate node or name: the node would vote twice
 */
function parseNodes(nodes: readonly LockNode[], list = "nodes"): readonly LockNode[] {
  if (!Array.isArray(nodes)) throw notNodes(list, "a list of lock nodes", nodes);
  if (nodes.length === 0) throw new RangeError(`${list} must have at least one lock node, not none`);
  const names = new Set<string>();
  for (const node of nodes as readonly (LockNode | null | undefined)[]) {
    const methods = [node?.acquire, node?.extend, node?.release];
    if (!methods.every((method) => typeof method === "function")) {
      throw notNodes("a node", "a lock node with acquire, extend and release", node);
    }
    const name: unknown = node?.name;
    if (typeof name !== "string" || name === "") throw wrong("a node's name", "a non-empty string", name, TypeError);
    if (names.has(name)) {
      throw new RangeError(`${list} and their names must be distinct: two are called ${name}`);
    }
    const suggestedMs = node?.suggestedTimeoutMs;
    if (suggestedMs !== undefined) checkInteger("a node's suggestedTimeoutMs", suggestedMs);
    names.add(name);
  }
  return Object.freeze([...nodes]);
}

/** The function that wraps a client as a node, keyed by a method that only clients of that library have. */
const wrappers = {
  evalsha: "ioredisNode",
  evalSha: "nodeRedisNode",
  customCommand: "valkeyGlideNode",
  query: "postgresNode",
  unsafe: "postgresNode",
};

/**
 * Creates the error for something other than a node, with advice for the most common mistake: passing a bare client.
 */
function notNodes(name: string, wanted: string, value: unknown): Error {
  const [, wrapper] = Object.entries(wrappers).find(([method]) => typeof Object(value)[method] === "function") ?? [];
  const advice = wrapper === undefined ? "" : `: wrap each client with ${wrapper}(client)`;
  return new TypeError(`${name} must be ${wanted}, not ${describeValue(value)}${advice}`);
}
