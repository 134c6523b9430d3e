import type { JointSet } from "@holdfast/core";
import { epochOf, type LockNode } from "@holdfast/core/node";
import {
  assertNotLater,
  latestOf,
  MembershipError,
  type MembershipOptions,
  Operation,
  quorumsOf,
} from "./operation.ts";

/** The options of {@link heal}. */
export interface HealOptions extends MembershipOptions {
  /**
   * How long to wait before the final reading, in milliseconds: the longest ttl of any lock, less the time since the nodes
   * lost their counters if they have not voted since. An attempt that a node granted before it lost its memory, or before
   * it had the floor, can still become a lock until its ttl ends, with a token that no other node has yet. Default 60 000.
   */
  readonly settleMs?: number | undefined;
  /** While servers change, which is when `nodes` are two sets: the `generation` of the clients before it. Default 0. */
  readonly generation?: number | undefined;
}

/** What {@link heal} has done. */
export interface Healed {
  /** The names of the healed nodes. */
  readonly nodes: readonly string[];
  /** The floor that they have, at least. */
  readonly floor: number;
  /** The epoch that they have, at least. */
  readonly epoch: number;
  /** The names of the nodes whose counters were read. */
  readonly read: readonly string[];
  /**
   * The names of those that had neither a counter nor a floor, although others had. They may have lost their counters as
   * well, and with them tokens above the floor: heal them together with these nodes.
   */
  readonly empty: readonly string[];
  /** How many counters were read. */
  readonly counters: number;
}

/**
 * Gives nodes that lost their fence counters a floor above every token that was granted before, so that tokens keep
 * growing whatever clocks say. For nodes that came back empty, or from an old backup, while the others were up.
 *
 * Reads all counters of the other nodes: of N nodes with quorum q, N − q + 1 that kept theirs, as each quorum has one of
 * those. Writes the floor immediately, and once more after `settleMs` with what was granted in between. The guarantee
 * begins when the call resolves.
 *
 * This restores tokens, not claims: that no two clients hold one lock rests on the node not voting until the claims that
 * it lost have ended, such as by `restartGuardMs` of the Redis adapters.
 *
 * Safe to repeat, also after a failure; it then begins again, as a counter that was read before a node lost its memory
 * once more may be too low.
 *
 * @param nodes all nodes of the set, including those to heal; while servers change, the old and the new ones
 * @param names the name of the node to heal, or the names of all that lost counters
 * @param options how long to wait, and for whom
 * @throws {MembershipError} when too few of the other nodes can be read, a node cannot be written, or the nodes are at
 *   another generation
 * @throws {TypeError | RangeError} for bad arguments
 * @throws the reason of `signal` when it aborts
 *
 * @example
 * ```ts
 * import { heal } from "@holdfast/membership";
 *
 * const nodes = ["a", "b", "c"].map((name) => memoryNode({ name }));
 * const { floor, read } = await heal(nodes, "c", { settleMs: 1_000 });
 * console.log(`c grants tokens above ${floor}, above all of ${read.join(" and ")}`);
 * ```
 */
export async function heal(
  nodes: readonly LockNode[] | JointSet,
  names: string | readonly string[],
  options: HealOptions = {},
): Promise<Healed> {
  const { generation = 0, ...rest } = options;
  const operation = new Operation(rest, ["generation"], "heal");
  const clientEpoch = epochOf(generation, false);
  const lost = new Set(typeof names === "string" ? [names] : names);
  const quorums = quorumsOf(nodes);
  const targets = [...new Set(quorums.flatMap((set) => set.nodes))].filter(({ name }) => lost.has(name));
  if (lost.size === 0 || targets.length < lost.size) {
    throw new RangeError("names must be those of nodes in the list, one at least");
  }
  const [before, next] = quorums;
  const sources = quorums
    .filter((set) => set.nodes.some(({ name }) => lost.has(name)))
    .map(({ which, nodes: members, needed: quorum }) => ({
      which: `other ${which}`,
      nodes: members.filter(({ name }) => !lost.has(name)),
      needed: members.length - quorum + 1,
    }));
  for (const { which, nodes: others, needed } of sources) {
    if (others.length >= needed) continue;
    throw new MembershipError(
      `could not heal ${[...lost].join(", ")}: ${others.length} ${which} are left, ${needed} needed`,
    );
  }
  const subject = [...lost].join(", ");
  const empty = new Set<string>();
  const readOthers = async (): Promise<Healed> => {
    const contents = await operation.onQuorum(`read the counters to heal ${subject}`, sources, (node) =>
      operation.read(node, { claims: false }),
    );
    if (next) assertNotLater(contents, clientEpoch, next);
    const all = [...contents.values()];
    const highest = Math.max(...all.map((content) => content.highest));
    const floor = 1 + highest;
    const latest = Math.max(...all.map(({ epoch }) => epoch));
    for (const [node, content] of contents) {
      // A node that only joins a set gets its floor together with the epoch of clients that may leave the old one.
      const isNew = !before?.nodes.includes(node) && latest < clientEpoch + 3;
      if (content.highest === 0 && highest > 0 && !isNew) empty.add(node.name);
    }
    const epochFor = (node: LockNode): number => (next ? Math.min(latest, latestOf(node, clientEpoch, next)) : latest);
    const target = [{ which: "nodes", nodes: targets, needed: targets.length }];
    await operation.onQuorum(`heal ${subject}`, target, (node) =>
      operation.raise(node, { floor, epoch: epochFor(node) }),
    );
    const epoch = Math.min(...targets.map(epochFor));
    const counters = all.reduce((sum, content) => sum + content.counters, 0);
    const read = [...contents.keys()].map(({ name }) => name);
    return { nodes: targets.map(({ name }) => name), floor, epoch, read, empty: [...empty], counters };
  };
  const first = await readOthers();
  if (operation.settleMs === 0) return first;
  operation.report({ doing: "waiting", claims: [], leftMs: operation.settleMs });
  await operation.pause(operation.settleMs);
  return readOthers();
}
