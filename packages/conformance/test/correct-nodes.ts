import type { LockNode } from "@holdfast/core";
import { assertAcquire, assertExtend } from "@holdfast/core/node";
import type { MemoryNode } from "@holdfast/memory";
import { isNightly } from "@holdfast/testkit";
import type { LockNodeLimits } from "../src/index.ts";
import { dayMs } from "../src/world/durations.ts";

/** A node that must pass the suite. */
export interface CorrectNode {
  /** Its name in the report. */
  readonly name: string;
  readonly cannot?: LockNodeLimits;
  readonly related?: (resource: string) => string;
  /** How many fence counters its resources share. Default: none. */
  readonly counters?: number;
  readonly makeFrom: (node: MemoryNode) => LockNode;
}

/** The unchanged correct node. */
const completeNode: CorrectNode = { name: "a correct node", makeFrom: (node) => node };

/** The correct node without the methods that the contract calls optional. */
export const bareNode: CorrectNode = {
  name: "a correct node without optional methods",
  cannot: { floor: "its counters cannot be raised together" },
  makeFrom: ({ name, acquire, extend, release }) => ({ name, acquire, extend, release }),
};

const tickMs = 50;

function refuse(isRefused: boolean, reason: string): void {
  if (isRefused) throw new Error(reason);
}

/** A node with all limits that may be declared, which does what the declarations promise instead. */
export const limitedNode: CorrectNode = {
  name: "a correct node with every limit declared",
  cannot: {
    severalResources: "one resource at a time",
    takeover: "claims are not passed on",
    rejoin: "a lost claim is lost",
    sharing: "all claims are exclusive",
    floor: "its counters cannot be raised together",
    longTtl: "at most a week",
    exactTtl: "its clock ticks every 50 ms",
    longNames: { max: 200, reason: "its keys have 200 bytes" },
  },
  makeFrom(node) {
    const checkName = (name: string): void => refuse(Buffer.byteLength(name) > 200, "its keys have 200 bytes");
    const prepare = <R extends { readonly resources: readonly string[]; readonly ttlMs: number }>(request: R): R => {
      for (const name of request.resources) checkName(name);
      refuse(request.resources.length > 1, "one resource at a time");
      refuse(request.ttlMs > 7 * dayMs, "at most a week");
      return { ...request, ttlMs: Math.ceil(request.ttlMs / tickMs) * tickMs };
    };
    const { raiseFloor: _, scan: __, ...others } = node;
    return {
      ...others,
      async acquire(request) {
        assertAcquire(request);
        const { takeover: _, shared: __, ...claim } = prepare(request);
        return node.acquire(claim);
      },
      async extend(request) {
        assertExtend(request);
        return node.extend({ ...prepare(request), rejoin: false });
      },
    };
  },
};

/** A node made before claims could be shared, which claims only a few resources at a time. */
const smallNode: CorrectNode = {
  name: "a correct node for a few resources at a time that ignores shared",
  cannot: { sharing: "all claims are exclusive", manyResources: { max: 20, reason: "its transactions are small" } },
  makeFrom(node) {
    const exclusive = <R extends { readonly resources: readonly string[]; readonly shared?: boolean }>(request: R) => {
      refuse(request.resources.length > 20, "its transactions are small");
      const { shared: _, ...claim } = request;
      return claim;
    };
    return {
      ...node,
      async acquire(request) {
        assertAcquire(request);
        return node.acquire(exclusive(request));
      },
      async extend(request) {
        assertExtend(request);
        return node.extend(exclusive(request));
      },
      async release(request) {
        refuse(request.resources?.length > 20, "its transactions are small");
        return node.release(request);
      },
    };
  },
};

/** A node that claims several resources together only if their names have the same prefix, up to a slash. */
const relatedNode: CorrectNode = {
  name: "a correct node for related resources",
  cannot: { unrelatedResources: "they would be in different places" },
  related: (resource) => `here/${resource}`,
  makeFrom(node) {
    const assertRelated = ({ resources }: { readonly resources: readonly string[] }): void => {
      const places = new Set(resources.map((resource) => resource.split("/")[0]));
      refuse(places.size > 1, `in different places: ${resources}`);
    };
    return {
      ...node,
      async acquire(request) {
        assertRelated(request);
        return node.acquire(request);
      },
      async extend(request) {
        assertRelated(request);
        return node.extend(request);
      },
    };
  },
};

/** A node that must fail the suite. */
export const wrongNode: CorrectNode = {
  name: "a node that returns | released",
  makeFrom: (node) => ({ ...node, release: async (request) => ({ ...(await node.release(request)), released: true }) }),
};

/** The same node, whose resources share their counters. It raises all of them instead of keeping a floor. */
function sharing(node: CorrectNode, counters: number): CorrectNode {
  return { ...node, name: `${node.name}, with ${counters === 1 ? "one counter" : `${counters} counters`}`, counters };
}

const nodes = [completeNode, bareNode, limitedNode, smallNode, relatedNode];

/** All nodes that must pass the suite. */
export const correctNodes: readonly CorrectNode[] = [
  ...nodes,
  // In `pnpm test`, the memory node itself passes the suite with shared counters.
  ...(isNightly ? nodes : []).map((node) => sharing(node, 1)),
  ...(isNightly ? [3, 16_384] : []).map((counters) => sharing(completeNode, counters)),
];
