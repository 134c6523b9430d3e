import type { RedlockContext } from "./context.ts";
import { labelOf } from "./errors.ts";
import type { NodeView } from "./lock-node.ts";
import type { Settings } from "./options.ts";
import { anyVote, type NodeCall, QuorumCall } from "./quorum-call.ts";
import { readNodeView } from "./replies.ts";

/** Who holds a resource, as the majority says and node by node. True at some moment while it was gathered. */
export interface Inspection {
  /** What was asked about. */
  readonly resource: string;
  /**
   * `held` if a quorum of nodes names the same owner; `free` if no owner can have a quorum, whatever the nodes hold
   * that did not answer; `unknown` if too few answered to tell.
   */
  readonly state: "held" | "free" | "unknown";
  /** The owner that holds a quorum, or null. */
  readonly owner: string | null;
  /** The label that leads the owner, or null. */
  readonly label: string | null;
  /** How long a quorum of nodes will still keep the claim unless it is extended, in milliseconds; null if not held. */
  readonly remainingMs: number | null;
  /** The highest fence counter that a node has told; 0 if none has. */
  readonly fence: number;
  /** What each node said, in the order in which the nodes were given. */
  readonly nodes: readonly NodeInspection[];
}

/** What one node said, or why it did not. */
export interface NodeInspection {
  /** The name of the node. */
  readonly node: string;
  /** What it said, or null if it failed. */
  readonly view: NodeView | null;
  /** How it failed, or null if it did not. */
  readonly error: Error | null;
}

/** Asks all nodes who holds a resource. Changes nothing, and never rejects because of a node. */
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
    send: (node) => node.inspect?.(resource) ?? Promise.reject(new Error("does not offer inspect()")),
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
  const camps = claims.map(({ owner }) => claims.filter((claim) => claim.owner === owner));
  const [largest = []] = camps.sort((a, b) => b.length - a.length);
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
