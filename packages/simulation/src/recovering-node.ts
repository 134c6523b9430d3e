import type { LockNode } from "@holdfast/core";

/**
 * A node that has forgotten everything, and counts for nobody until it is over, as with `restartGuardMs` of the Redis
 * adapters: it does not vote, and answers the extension of a claim that it has made again as if that had been just now.
 */
export function recoveringNode(node: LockNode, isOver: () => boolean): LockNode {
  const madeAgain = new Set<string>();
  return {
    name: node.name,
    async acquire(request) {
      if (!isOver()) throw new Error("recovering from a restart");
      return node.acquire(request);
    },
    async extend(request) {
      const reply = await node.extend(request);
      if (isOver()) return reply;
      if (!reply.held && reply.rejoined) madeAgain.add(request.owner);
      return reply.held && madeAgain.has(request.owner) ? { held: false, rejoined: true } : reply;
    },
    release: (request) => node.release(request),
    ...(node.watch && { watch: (...args) => (node.watch as Required<LockNode>["watch"])(...args) }),
    ...(node.inspect && { inspect: (resource) => (node.inspect as Required<LockNode>["inspect"])(resource) }),
  };
}
