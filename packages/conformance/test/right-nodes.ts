import type { LockNode } from "@holdfast/core";
import type { MemoryNode } from "@holdfast/memory";
import type { LockNodeLimits } from "../src/index.ts";

/** A node that the suite has to pass. */
export interface RightNode {
  /** Its name in the report. */
  readonly name: string;
  readonly cannot?: LockNodeLimits;
  readonly makeFrom: (node: MemoryNode) => LockNode;
}

/** The correct node as it is. */
export const completeNode: RightNode = { name: "a correct node", makeFrom: (node) => node };

/** The correct node without the methods that the contract calls optional. */
export const bareNode: RightNode = {
  name: "a correct node without optional methods",
  makeFrom: ({ name, acquire, extend, release }) => ({ name, acquire, extend, release }),
};

const dayMs = 24 * 60 * 60_000;
const tickMs = 50;

function refuse(isRefused: boolean, reason: string): void {
  if (isRefused) throw new Error(reason);
}

/** A node that cannot do any of what may be declared, and does instead what the declaration promises. */
export const limitedNode: RightNode = {
  name: "a correct node with every limit declared",
  cannot: {
    severalResources: "one resource at a time",
    takeover: "claims are not passed on",
    rejoin: "a lost claim is lost",
    longTtl: "a week at the most",
    exactTtl: "its clock ticks every 50 ms",
  },
  makeFrom(node) {
    const prepare = <R extends { readonly resources: readonly string[]; readonly ttlMs: number }>(request: R): R => {
      refuse(request.resources.length > 1, "one resource at a time");
      refuse(request.ttlMs > 7 * dayMs, "a week at the most");
      return { ...request, ttlMs: Math.ceil(request.ttlMs / tickMs) * tickMs };
    };
    return {
      ...node,
      acquire: async ({ takeover: _, ...request }) => node.acquire(prepare(request)),
      extend: async (request) => node.extend({ ...prepare(request), rejoin: false }),
    };
  },
};

/** A node that the suite must not pass. */
export const wrongNode: RightNode = {
  name: "a node that says | released",
  makeFrom: (node) => ({ ...node, release: async (request) => ({ ...(await node.release(request)), released: true }) }),
};

/** All nodes that the suite has to pass. */
export const rightNodes: readonly RightNode[] = [completeNode, bareNode, limitedNode];
