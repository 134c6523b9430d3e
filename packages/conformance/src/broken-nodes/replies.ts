import type { AcquireReply, AcquireRequest, ExtendReply, LockNode, NodeView, ReleaseReply } from "@holdfast/core";
import { type BrokenWrapper, withDenials } from "./broken-node.ts";

/** Replaces the held resources in each denial. */
export function withHeldResources(
  node: LockNode,
  name: (request: AcquireRequest) => readonly string[] | Promise<readonly string[]>,
): Partial<LockNode> {
  return withDenials(node, async (denial, request) => ({ ...denial, heldResources: await name(request) }));
}

/** Faults in the shape of a reply, or in the handling of a request. */
export const brokenReplies: readonly BrokenWrapper[] = [
  {
    fault: "returns the fence as a string",
    caughtBy: "acquire() grants a resource that was never claimed",
    breakIt: (node) => ({
      async acquire(request) {
        const reply = await node.acquire(request);
        return (reply.granted ? { ...reply, fence: String(reply.fence) } : reply) as AcquireReply;
      },
    }),
  },
  {
    fault: "returns its server's OK instead of a reply",
    caughtBy: "acquire() grants a resource that was never claimed",
    breakIt: (node) => ({
      acquire: async (request) => ((await node.acquire(request)).granted ? "OK" : null) as unknown as AcquireReply,
    }),
  },
  {
    fault: "never replies",
    caughtBy: "acquire() grants a resource that was never claimed",
    breakIt: () => ({ acquire: () => new Promise(() => {}) }),
  },
  {
    fault: "returns a negative wait, as some servers do for a key without a ttl",
    caughtBy: "acquire() denies a resource that another owner holds, through either client",
    breakIt: (node) => withDenials(node, () => ({ granted: false, retryAfterMs: -1 })),
  },
  {
    fault: "lists as held a resource that was not requested",
    caughtBy: "acquire() denies a resource that another owner holds, through either client",
    breakIt: (node) => withHeldResources(node, ({ resources }) => [...resources, "not asked for"]),
  },
  {
    fault: "returns an empty list of held resources",
    caughtBy: "acquire() denies a resource that another owner holds, through either client",
    breakIt: (node) => withHeldResources(node, () => []),
  },
  {
    fault: "omits rejoined when it returns not held",
    caughtBy: "extend() without rejoin of a resource never claimed changes nothing",
    breakIt: (node) => ({
      async extend(request) {
        const reply = await node.extend(request);
        return (reply.held ? reply : { held: false }) as ExtendReply;
      },
    }),
  },
  {
    fault: "returns the number of freed resources from a release",
    caughtBy: "release() frees the owner's claim for the next owner",
    breakIt: (node) => ({
      release: async (request) =>
        ({ released: Number((await node.release(request)).released) }) as unknown as ReleaseReply,
    }),
  },
  {
    fault: "returns an undefined owner when it inspects a free resource",
    caughtBy: "inspect() of a resource never claimed returns no owner and fence 0",
    sees: "inspect",
    breakIt: (node) => ({
      async inspect(resource) {
        const { owner, ...view } = await node.inspect(resource);
        return { ...view, owner: owner ?? undefined } as NodeView;
      },
    }),
  },
  {
    fault: "empties the list of resources that it was given",
    caughtBy: "acquire() grants a resource that was never claimed",
    breakIt: (node) => ({
      acquire: ({ resources, ...rest }) => node.acquire({ ...rest, resources: (resources as string[]).splice(0) }),
    }),
  },
  {
    fault: "rounds a ttl that is not a valid number of milliseconds",
    caughtBy: "acquire() rejects a malformed request, and changes nothing",
    breakIt: (node) => ({
      acquire: (request) => node.acquire({ ...request, ttlMs: Math.max(1, Math.round(request.ttlMs) || 1) }),
    }),
  },
  {
    fault: "grants a claim on no resources",
    caughtBy: "acquire() rejects a malformed request, and changes nothing",
    breakIt: (node) => ({
      acquire: async (request) =>
        request.resources?.length === 0 ? { granted: true, fence: request.fenceHint } : node.acquire(request),
    }),
  },
  {
    fault: "extends for an empty owner",
    caughtBy: "extend() rejects a malformed request, and changes nothing",
    breakIt: (node) => ({
      extend: async (request) => (request.owner ? node.extend(request) : { held: false, rejoined: false }),
    }),
  },
  {
    fault: "takes over from an owner that is not a string",
    caughtBy: "acquire() rejects a malformed request, and changes nothing",
    breakIt: (node) => ({
      async acquire({ takeover, ...request }) {
        return node.acquire(takeover ? { ...request, takeover: String(takeover) } : request);
      },
    }),
  },
  {
    fault: "adds a waiter that is not a string to the waiting list",
    caughtBy: "acquire() rejects a malformed request, and changes nothing",
    breakIt: (node) => ({
      async acquire({ waiter, ...request }) {
        return node.acquire(waiter ? { ...request, waiter: String(waiter) } : request);
      },
    }),
  },
  {
    fault: "shares for any truthy value",
    caughtBy: "acquire() rejects a malformed request, and changes nothing",
    breakIt: (node) => ({ acquire: (request) => node.acquire({ ...request, shared: Boolean(request.shared) }) }),
  },
  {
    fault: "extends a shared claim for any truthy value",
    caughtBy: "extend() rejects a malformed request, and changes nothing",
    breakIt: (node) => ({ extend: (request) => node.extend({ ...request, shared: Boolean(request.shared) }) }),
  },
  {
    fault: "rejoins for any truthy value",
    caughtBy: "extend() rejects a malformed request, and changes nothing",
    breakIt: (node) => ({ extend: (request) => node.extend({ ...request, rejoin: Boolean(request.rejoin) }) }),
  },
  {
    fault: "releases for an empty owner",
    caughtBy: "release() rejects a malformed request, and changes nothing",
    breakIt: (node) => ({
      release: async (request) => (request.owner ? node.release(request) : { released: false }),
    }),
  },
  {
    fault: "undoes for any truthy value",
    caughtBy: "release() rejects a malformed request, and changes nothing",
    breakIt: (node) => ({ release: (request) => node.release({ ...request, undo: Boolean(request.undo) }) }),
  },
];
