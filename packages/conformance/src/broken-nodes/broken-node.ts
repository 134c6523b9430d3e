import { setImmediate } from "node:timers/promises";
import type {
  AcquireReply,
  AcquireRequest,
  ExtendReply,
  ExtendRequest,
  Floor,
  FloorRequest,
  LockNode,
  NodeView,
  ReleaseReply,
  ReleaseRequest,
  ScanPortion,
  ScanRequest,
} from "@holdfast/core/node";
import type { Limit } from "../settings.ts";
import type { LockNodeLimits, LockNodeSubject } from "../subject.ts";
import { plain, plainNode, renamedNode } from "../world/renamed-node.ts";

/** A lock node with one fault, and the test of the suite that must catch it. */
export interface BrokenNode {
  /** The fault, as a continuation of "a node that …". */
  readonly fault: string;
  /** The statement of the test that catches it. Other tests may also catch it. */
  readonly caughtBy: string;
  /** The optional parts that a subject needs to be broken in this way. Default: none. */
  readonly needs?: readonly SubjectPart[];
  /** The limits that the broken node declares and violates. Default: none. */
  readonly cannot?: LockNodeLimits;
  /** Creates a subject with the fault. `correct` creates a correct subject. */
  create(correct: () => Promise<LockNodeSubject>): Promise<LockNodeSubject>;
}

/** The optional parts of a subject. */
export type SubjectPart =
  | "watch"
  | "inspect"
  | "close"
  | "floor"
  | "server"
  | "otherProcess"
  | "advance"
  | "waitingLists"
  /** A floor that is a number of its own, rather than a raise of all counters. */
  | "ownFloor"
  /** A fence counter for each resource, or so many that resources seldom share one. */
  | "ownCounters";

/** Returns the methods that replace those of a correct node. */
export type Wrapper<N = Required<LockNode>> = (node: N, elapsedMs: () => number) => Partial<LockNode>;

/**
 * Wrappers of a correct node by the statement of the test that catches them, and then by their fault. A wrapper's state
 * stands for the server's, so both clients share it unless it is kept `perClient`.
 */
type Faults<N> = Readonly<Record<string, Readonly<Record<string, Wrapper<N> | { readonly perClient: Wrapper<N> }>>>>;

/** The methods with one argument: what they get, and what they return. */
interface Calls {
  acquire: [AcquireRequest, AcquireReply];
  extend: [ExtendRequest, ExtendReply];
  release: [ReleaseRequest, ReleaseReply];
  inspect: [string, NodeView];
  raiseFloor: [FloorRequest, Floor];
  scan: [ScanRequest, ScanPortion];
}

/** Returns a wrapper that replaces one method. */
export function on<M extends keyof Calls, N extends LockNode>(
  method: M,
  act: (request: Calls[M][0], node: N) => Promise<Calls[M][1]>,
): Wrapper<N> {
  return (node) => ({ [method]: (request: Calls[M][0]) => act(request, node) });
}

/** Returns broken nodes that wrap any correct node. */
export function broken(faults: Faults<LockNode>): readonly BrokenNode[] {
  return brokenNodesOf({}, faults);
}

/** Returns broken nodes that wrap a correct node whose subject offers these parts. */
export function brokenIf(needs: readonly SubjectPart[], faults: Faults<Required<LockNode>>): readonly BrokenNode[] {
  return brokenNodesOf({ needs }, faults as Faults<LockNode>);
}

/** Returns broken nodes that declare a limit, and violate it. */
export function violating<L extends Limit>(
  limit: L,
  reason: LockNodeLimits[L],
  faults: Faults<LockNode>,
): readonly BrokenNode[] {
  return brokenNodesOf({ cannot: { [limit]: reason } }, faults);
}

function brokenNodesOf(
  conditions: Pick<BrokenNode, "needs" | "cannot">,
  faults: Faults<LockNode>,
): readonly BrokenNode[] {
  return Object.entries(faults).flatMap(([caughtBy, wrappers]) =>
    Object.entries(wrappers).map(([fault, wrapper]): BrokenNode => {
      const isPerClient = typeof wrapper !== "function";
      const wrap = isPerClient ? wrapper.perClient : wrapper;
      return {
        fault,
        caughtBy,
        ...conditions,
        async create(correct) {
          const { subject, elapsedMs } = withClock(await correct());
          const brokenBy = (node: LockNode): LockNode => ({ ...plainNode(node), ...wrap(plainNode(node), elapsedMs) });
          const node = brokenBy(subject.node);
          const rival = isPerClient ? brokenBy(subject.rival) : node;
          const related = conditions.cannot?.unrelatedResources && { related: (resource: string) => resource };
          return { ...withNodes(subject, node, rival), ...related };
        },
      };
    }),
  );
}

/** Returns the subject, and a clock that runs like its server's. */
function withClock(subject: LockNodeSubject): { subject: LockNodeSubject; elapsedMs: () => number } {
  if (!subject.advance) return { subject, elapsedMs: () => performance.now() };
  let elapsedMs = 0;
  const advance = (ms: number): void | Promise<void> => {
    elapsedMs += ms;
    return subject.advance?.(ms);
  };
  return { subject: { ...withNodes(subject, subject.node, subject.rival), advance }, elapsedMs: () => elapsedMs };
}

/** Returns the subject with other nodes. */
function withNodes(subject: LockNodeSubject, node: LockNode, rival: LockNode): LockNodeSubject {
  return { ...plain(subject, ["close", "server", "rivalModule", "advance", "nowMs", "related"]), node, rival };
}

/** Changes a node that can lose a fence counter: each resource is kept under a name that changes with every loss. */
export function forgetting<N extends LockNode>(
  change: (node: N, forget: (resource: string) => void, elapsedMs: () => number) => Partial<LockNode>,
): Wrapper<N> {
  return (correct, elapsedMs) => {
    const generations = new Map<string, number>();
    const keptAs = (resource: string): string => {
      const generation = generations.get(resource);
      return generation === undefined ? resource : `${resource}, generation ${generation}`;
    };
    const forget = (resource: string) => void generations.set(resource, (generations.get(resource) ?? 0) + 1);
    const node = renamedNode(correct, keptAs);
    return { ...node, ...change(node, forget, elapsedMs) };
  };
}

/** A reply of `acquire` that does not grant. */
type Denial = Extract<AcquireReply, { granted: false }>;

/** Changes the denials of a node. */
export function withDenials(
  { acquire }: Pick<LockNode, "acquire">,
  change: (denial: Denial, request: AcquireRequest) => AcquireReply | Promise<AcquireReply>,
): Pick<LockNode, "acquire"> {
  return {
    async acquire(request) {
      const reply = await acquire(request);
      return reply.granted ? reply : change(reply, request);
    },
  };
}

/** Changes the fences that a node grants. */
export function withGrants(
  node: LockNode,
  change: (fence: number, request: AcquireRequest) => number | Promise<number>,
): Pick<LockNode, "acquire"> {
  return {
    async acquire(request) {
      const reply = await node.acquire(request);
      return reply.granted ? { granted: true, fence: await change(reply.fence, request) } : reply;
    },
  };
}

/** Claims several resources one by one, and keeps the first if a later one is held. */
export async function claimEach(request: AcquireRequest, node: LockNode): Promise<AcquireReply> {
  let fence = 1;
  for (const resource of request.resources) {
    const reply = await node.acquire({ ...request, resources: [resource] });
    if (!reply.granted) return reply;
    fence = Math.max(fence, reply.fence);
  }
  return { granted: true, fence };
}

/** Rejoins several resources one by one. */
export async function rejoinEach(request: ExtendRequest, node: LockNode): Promise<ExtendReply> {
  for (const resource of request.resources) await node.extend({ ...request, resources: [resource] });
  return { held: false, rejoined: true };
}

/** Claims a held resource again, for the ttl of an extension. */
export async function claimAgain(request: ExtendRequest, node: LockNode): Promise<void> {
  await node.release({ ...request, undo: true });
  await node.acquire({ ...request, fenceHint: 1 });
}

/** Counts a claim, or only a shared one, as released as soon as its request was sent. */
export function releasingSent(node: LockNode, onlyShared = false): Partial<LockNode> {
  const sent = new Set<string>();
  return {
    async acquire(request) {
      if (onlyShared && !request.shared) return node.acquire(request);
      sent.add(request.owner);
      await setImmediate();
      return node.acquire(request).finally(() => sent.delete(request.owner));
    },
    async release(request) {
      const { released } = await node.release(request);
      return { released: released || sent.has(request.owner) };
    },
  };
}
