import { notSent } from "./attempt.ts";
import type { RedlockContext } from "./context.ts";
import { labelOf, type NodeSet, reasonOf } from "./errors.ts";
import type { NodeView } from "./lock-node.ts";
import type { Settings } from "./options.ts";
import { QuorumCall } from "./quorum-call.ts";
import { readFailure } from "./votes.ts";

/** The holder of a resource, by majority and node by node. Each node's view was true at some moment during the call. */
export interface Inspection {
  /** The resource that was inspected. */
  readonly resource: string;
  /**
   * `held` if a quorum of a set of nodes names the same owner; `free` if no owner can have a quorum, whatever the nodes
   * that did not reply may hold; `unknown` if too few replied to tell.
   */
  readonly state: "held" | "free" | "unknown";
  /** Whether the lock is shared; null if not held. */
  readonly mode: "exclusive" | "shared" | null;
  /** The owner that a quorum of nodes names, or null. Of several that share the resource, the one that lasts longest. */
  readonly owner: string | null;
  /** The owner's label, or null. */
  readonly label: string | null;
  /** How long a quorum of nodes will keep the claim unless it is extended, in milliseconds; null if not held. */
  readonly remainingMs: number | null;
  /** All the owners that a quorum of nodes names, those that last longest first: more than one only if they share. */
  readonly holders: readonly Holder[];
  /** The highest fence counter that a node reported; 0 if none did. */
  readonly fence: number;
  /** The nodes and how many are a quorum: one set, or while servers change the old one and the new one. */
  readonly sets: readonly NodeSet[];
  /** Each node's view or error, in the order in which the nodes were given. */
  readonly nodes: readonly NodeInspection[];
}

/** An owner that a quorum of nodes names. */
export interface Holder {
  /** The owner, as in `Lock.owner`. */
  readonly owner: string;
  /** The owner's label, or null. */
  readonly label: string | null;
  /** How long a quorum of nodes will keep the claim unless it is extended, in milliseconds. */
  readonly remainingMs: number;
}

/** One node's view of a resource, or its error. */
export interface NodeInspection {
  /** The name of the node. */
  readonly node: string;
  /** The node's view, or null if the node failed. */
  readonly view: NodeView | null;
  /** The node's error, or null if it replied. */
  readonly error: Error | null;
}

/** Which nodes reply now: a plain object, for the reply to a health check. */
export interface Health {
  /** Whether a quorum of the nodes replies; while servers change, a quorum of each set. */
  readonly ok: boolean;
  /** How many nodes reply. */
  readonly reachable: number;
  /** How many must be; while servers change, the larger of both quorums. */
  readonly quorum: number;
  /** Each node, in the order in which the nodes were given. */
  readonly nodes: readonly NodeHealth[];
}

/** See {@link Health.nodes}. */
export interface NodeHealth {
  /** The name of the node. */
  readonly name: string;
  /** Whether it replied, and does not recover from a restart. */
  readonly ok: boolean;
  /** Why not. */
  readonly error?: string;
}

/** Returns what an inspection shows of the nodes. */
export function healthOf({ nodes: inspections, sets }: Inspection): Health {
  const nodes = inspections.map(({ node: name, view, error }): NodeHealth => {
    if (error !== null) return { name, ok: false, error: reasonOf(error) };
    const recoveringMs = view?.recoveringMs ?? 0;
    if (recoveringMs > 0) return { name, ok: false, error: `recovering from a restart, ${recoveringMs} ms left` };
    return { name, ok: true };
  });
  const up = new Set(nodes.filter(({ ok }) => ok).map(({ name }) => name));
  const ok = sets.every((set) => set.nodes.filter((name) => up.has(name)).length >= set.quorum);
  return { ok, reachable: up.size, quorum: Math.max(...sets.map(({ quorum }) => quorum)), nodes };
}

/** Asks all nodes who holds a resource. Changes nothing, and never rejects because a node fails. */
export async function inspectResource(
  context: RedlockContext,
  resource: string,
  { quorum, nodeTimeoutMs: timeoutMs }: Settings,
): Promise<Inspection> {
  const { nodes, limit } = context;
  const call = { method: "inspect", request: resource, timeoutMs, caller: { reported: [resource] } } as const;
  const unable = readFailure(new Error("does not implement inspect()"));
  const known = nodes.map(({ inspect }) => (inspect ? undefined : unable));
  const ask = () => new QuorumCall(context, call, { quorum, known, isDecided: () => false }).settled;
  const tally = await limit.run(ask, { patienceMs: timeoutMs });
  const failed = tally === undefined ? new Error(notSent(timeoutMs).remark) : null;
  const inspections = nodes.map(({ name: node }, index): NodeInspection => {
    const { view = null, error = failed } = tally?.votes[index] ?? {};
    return { node, view, error };
  });
  const { sets } = quorum;
  return { resource, sets, ...verdictOf(inspections, sets), nodes: inspections };
}

const nobody = { owner: null, label: null, remainingMs: null };

function verdictOf(
  inspections: readonly NodeInspection[],
  sets: readonly NodeSet[],
): Omit<Inspection, "resource" | "sets" | "nodes"> {
  const views = inspections.flatMap(({ view }) => view ?? []);
  /** How long each node keeps the claim of an owner. */
  const claims = new Map<string, Map<string, number>>();
  for (const { node, view } of inspections) {
    for (const { owner, remainingMs } of view?.sharers ?? [view ?? nobody]) {
      if (owner === null) continue;
      claims.set(owner, (claims.get(owner) ?? new Map<string, number>()).set(node, remainingMs ?? Infinity));
    }
  }
  const failed = new Set(inspections.filter(({ view }) => view === null).map(({ node }) => node));
  const holders: Holder[] = [];
  let isFree = true;
  for (const { nodes, quorum } of sets) {
    const missing = nodes.filter((node) => failed.has(node)).length;
    isFree &&= missing < quorum;
    for (const [owner, kept] of claims) {
      const remaining = nodes.flatMap((node) => kept.get(node) ?? []).sort((a, b) => b - a);
      isFree &&= remaining.length + missing < quorum;
      const remainingMs = remaining[quorum - 1];
      if (remainingMs !== undefined) holders.push({ owner, label: labelOf(owner), remainingMs });
    }
  }
  holders.sort((a, b) => b.remainingMs - a.remainingMs);
  const distinct = holders.filter(({ owner }, index) => holders.findIndex((other) => other.owner === owner) === index);
  const [first] = distinct;
  const isShared = views.some(({ sharers }) => sharers?.some(({ owner }) => owner === first?.owner));
  return {
    state: first ? "held" : isFree ? "free" : "unknown",
    mode: first ? (isShared ? "shared" : "exclusive") : null,
    ...(first ?? nobody),
    holders: distinct,
    fence: Math.max(0, ...views.map(({ fence }) => fence)),
  };
}
