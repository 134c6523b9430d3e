import type { AcquireReply, AcquireRequest, LockNode } from "@holdfast/core";
import type { LockNodeLimits, LockNodeSubject } from "../subject.ts";
import { plainNode, renamedNode } from "../world/renamed-node.ts";

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

/** A broken node that wraps a correct one. */
export type BrokenWrapper = Omit<BrokenNode, "create"> &
  Pick<LockNodeSubject, "related"> &
  (BlindWrapper<LockNode> | SeeingWrapper);

interface BlindWrapper<N> {
  readonly sees?: undefined;
  /** Returns the methods that replace those of the correct node. */
  readonly breakIt: (node: N, elapsedMs: () => number) => Partial<LockNode>;
  /** The same for the second client, if that must be a different object. */
  readonly breakRival?: (node: N, elapsedMs: () => number) => Partial<LockNode>;
}

/** A wrapper that calls an optional method of the correct node, or breaks it. */
interface SeeingWrapper extends Omit<BlindWrapper<Required<LockNode>>, "sees"> {
  readonly sees: "watch" | "inspect" | "close" | "floor";
}

/** Turns a wrapper of nodes into a broken node, which applies it to the nodes of a subject. */
export function brokenNodeOf({ breakIt, breakRival, sees, needs = [], related, ...rest }: BrokenWrapper): BrokenNode {
  return {
    ...rest,
    needs: sees ? [sees, ...needs] : needs,
    async create(correct) {
      const { subject, elapsedMs } = withClock(await correct());
      const brokenBy = (wrap: typeof breakIt, node: LockNode): LockNode => {
        const plain = plainNode(node);
        return { ...plain, ...wrap(plain as Required<LockNode>, elapsedMs) };
      };
      const node = brokenBy(breakIt, subject.node);
      // A wrapper's state stands for the server's state, so both clients share one wrapper.
      const rival = breakRival ? brokenBy(breakRival, subject.rival) : node;
      return { ...withNodes(subject, node, rival), ...(related && { related }) };
    },
  };
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

/** Returns the subject with other nodes, even if its methods are those of a class. */
function withNodes(subject: LockNodeSubject, node: LockNode, rival: LockNode): LockNodeSubject {
  const { advance, nowMs, related, rivalModule, server } = subject;
  return {
    node,
    rival,
    close: () => subject.close(),
    ...(server && { server }),
    ...(rivalModule && { rivalModule }),
    ...(advance && { advance: advance.bind(subject) }),
    ...(nowMs && { nowMs: nowMs.bind(subject) }),
    ...(related && { related: related.bind(subject) }),
  };
}

/**
 * Returns a node that can lose a fence counter: each resource is kept under a name that changes with every loss.
 */
export function forgetful<N extends LockNode>(node: N): { node: N; forget(resource: string): void } {
  const generations = new Map<string, number>();
  const keptAs = (resource: string): string => {
    const generation = generations.get(resource);
    return generation === undefined ? resource : `${resource}, generation ${generation}`;
  };
  return {
    node: renamedNode(node, keptAs),
    forget: (resource) => generations.set(resource, (generations.get(resource) ?? 0) + 1),
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
