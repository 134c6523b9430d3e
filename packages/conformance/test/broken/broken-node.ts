import type { LockNode } from "@holdfast/core";
import type { MemoryNode } from "@holdfast/memory";
import type { LockNodeLimits } from "../../src/index.ts";

/** A correct node with one mistake, and the test that must not let it pass. */
export interface BrokenNode {
  /** What is wrong with it. Also its name in the report. */
  readonly mistake: string;
  /** The statement of the test that catches it. Others may, too. */
  readonly caughtBy: string;
  /** What the node is declared to be unable to do. Default: nothing. */
  readonly cannot?: LockNodeLimits;
  /** Makes the mistake: the methods to put in the place of the correct node's. */
  readonly breakIt: (node: MemoryNode) => Partial<LockNode>;
  /** Makes the second client, unless it is the same as the first. */
  readonly breakRival?: (node: MemoryNode) => Partial<LockNode>;
}

/** A node whose counters can be made to forget: each resource is kept under a name that changes when it does. */
export function forgetful(node: MemoryNode): { node: MemoryNode; forget(resource: string): void } {
  const generations = new Map<string, number>();
  const keptAs = (resource: string): string => `${resource}, generation ${generations.get(resource) ?? 0}`;
  const renamed = <R extends { readonly resources: readonly string[] }>(request: R): R => ({
    ...request,
    resources: request.resources.map(keptAs),
  });
  return {
    node: {
      ...node,
      acquire: (request) => node.acquire(renamed(request)),
      extend: (request) => node.extend(renamed(request)),
      release: (request) => node.release(renamed(request)),
      inspect: (resource) => node.inspect(keptAs(resource)),
    },
    forget: (resource) => generations.set(resource, (generations.get(resource) ?? 0) + 1),
  };
}
