import type { RedlockContext } from "./context.ts";
import { labelOf } from "./errors.ts";
import type { NodeView } from "./lock-node.ts";
import type { Settings } from "./options.ts";
import { anyVote, type NodeCall, QuorumCall } from "./quorum-call.ts";
import { readNodeView } from "./replies.ts";

/** The holder of a resource, by majority and node by node. Each node's view was true at some moment during the call. */
export interface Inspection {
  /** The resource that was inspected. */
  readonly resource: string;
  /**
   * `held` if a quorum of nodes names the same owner; `free` if no owner can have a quorum, whatever the nodes that did
   * not reply may hold; `unknown` if too few replied to tell.
   */
  readonly state: "held" | "free" | "unknown";
  /** The owner that a quorum of nodes names, or null. */
  readonly owner: string | null;
  /** The owner's label, or null. */
  readonly label: string | null;
  /** How long a quorum of nodes will keep the claim unless it is extended, in milliseconds; null if not held. */
  readonly remainingMs: number | null;
  /** The highest fence counter that a node reported; 0 if none did. */
  readonly fence: number;
  /** Each node's view or error, in the order in which the nodes were given. */
  readonly nodes: readonly NodeInspection[];
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

/** Asks all nodes who holds a resource. Changes nothing, and never rejects because a node fails. */
export async function inspectResource(
  context: RedlockContext,
  resource: string,
  { quorum, nodeTimeoutMs: timeoutMs }: Settings,
): Promise<Inspection> {
  const { nodes } = context;
  const call: NodeCall = {
    nodes,
    method: "inspect",
    resources: [resource],
    send: (node) => node.inspect?.(resource) ?? Promise.reject(new Error("does not implement inspect()")),
    read: readNodeView,
  };
  const rule = { timeoutMs, isYes: anyVote, isDecided: () => false };
  const { votes } = await new QuorumCall(context, call, rule).run();
  const inspections = nodes.map(({ name: node }, index): NodeInspection => {
    const { view = null, error = null } = votes[index] ?? {};
    return { node, view, error };
  });
  const views = inspections.flatMap(({ view }) => view ?? []);
  return { resource, ...verdictOf(views, nodes.length, quorum), nodes: inspections };
}

function verdictOf(
  views: readonly NodeView[],
  nodeCount: number,
  quorum: number,
): Omit<Inspection, "resource" | "nodes"> {
  const claims = views.filter(({ owner }) => owner !== null);
  const groups = claims.map(({ owner }) => claims.filter((claim) => claim.owner === owner));
  const [largest = []] = groups.sort((a, b) => b.length - a.length);
  const remaining = largest.map(({ remainingMs }) => remainingMs ?? Infinity).sort((a, b) => b - a);
  const owner = largest[quorum - 1]?.owner ?? null;
  return {
    state: owner !== null ? "held" : largest.length + nodeCount - views.length < quorum ? "free" : "unknown",
    owner,
    label: owner === null ? null : labelOf(owner),
    remainingMs: remaining[quorum - 1] ?? null,
    fence: Math.max(0, ...views.map(({ fence }) => fence)),
  };
}
