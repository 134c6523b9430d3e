import type { LockNode } from "@holdfast/core";
import { plainNode, renamedNode } from "../renamed-node.ts";
import type { LockNodeLimits, LockNodeSubject } from "../subject.ts";

/** A mistake that a lock node can have, and the test of the suite that must not let it pass. */
export interface Mistake {
  /** What a node with the mistake does, after "a node that …". */
  readonly mistake: string;
  /** The statement of the test that catches it. Others may, too. */
  readonly caughtBy: string;
  /** What a subject must have for the mistake to be made in it. Default: nothing but what every subject has. */
  readonly needs?: readonly SubjectPart[];
  /** What the node is declared to be unable to do, and does wrong. Default: nothing. */
  readonly cannot?: LockNodeLimits;
  /** Makes a subject with the mistake, by way of the function that makes a right one. */
  create(right: () => Promise<LockNodeSubject>): Promise<LockNodeSubject>;
}

/** What not every subject has. */
export type SubjectPart = "watch" | "inspect" | "server" | "advance" | "line";

/** A mistake that is made by wrapping a right node. */
export type NodeMistake = Omit<Mistake, "create"> &
  Pick<LockNodeSubject, "related"> &
  (BlindMistake<LockNode> | SeeingMistake);

interface BlindMistake<N> {
  readonly sees?: undefined;
  /** The methods to put in the place of the right node's. */
  readonly breakIt: (node: N) => Partial<LockNode>;
  /** The same for the second client, where that is not to be the same object. */
  readonly breakRival?: (node: N) => Partial<LockNode>;
}

/** One that looks at the right node by an optional method, or breaks that. */
interface SeeingMistake extends Omit<BlindMistake<Required<LockNode>>, "sees"> {
  readonly sees: "watch" | "inspect";
}

/** Makes it a mistake of whole subjects. */
export function mistakeOf({ breakIt, breakRival, sees, needs = [], related, ...rest }: NodeMistake): Mistake {
  return {
    ...rest,
    needs: sees ? [sees, ...needs] : needs,
    async create(right) {
      const subject = await right();
      const brokenBy = (wrap: typeof breakIt, correct: LockNode): LockNode => {
        const plain = plainNode(correct);
        return { ...plain, ...wrap(plain as Required<LockNode>) };
      };
      const node = brokenBy(breakIt, subject.node);
      // What a mistake keeps in mind is the server's: with two objects, each would have a server of its own.
      const rival = breakRival ? brokenBy(breakRival, subject.rival) : node;
      return { ...withNodes(subject, node, rival), ...(related && { related }) };
    },
  };
}

/** The same subject with other nodes, whether its methods are its own or those of a class. */
function withNodes(subject: LockNodeSubject, node: LockNode, rival: LockNode): LockNodeSubject {
  const { advance, nowMs, related, server } = subject;
  return {
    node,
    rival,
    close: () => subject.close(),
    ...(server && { server }),
    ...(advance && { advance: advance.bind(subject) }),
    ...(nowMs && { nowMs: nowMs.bind(subject) }),
    ...(related && { related: related.bind(subject) }),
  };
}

/** A node whose counters can be made to forget: each resource is kept under a name that changes when it does. */
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
