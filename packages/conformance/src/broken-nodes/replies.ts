import type { AcquireReply, AcquireRequest, ExtendReply, LockNode, NodeView, ReleaseReply } from "@holdfast/core/node";
import { type BrokenNode, broken, brokenIf, on, withDenials } from "./broken-node.ts";

/** Replaces the held resources in each denial. */
export function withHeldResources(
  node: LockNode,
  name: (request: AcquireRequest) => readonly string[] | Promise<readonly string[]>,
): Partial<LockNode> {
  return withDenials(node, async (denial, request) => ({ ...denial, heldResources: await name(request) }));
}

/** Faults in the shape of a reply, or in the handling of a request. */
export const brokenReplies: readonly BrokenNode[] = [
  ...broken({
    "acquire() grants a resource that was never claimed": {
      "returns the fence as a string": on("acquire", async (request, node) => {
        const reply = await node.acquire(request);
        return (reply.granted ? { ...reply, fence: String(reply.fence) } : reply) as AcquireReply;
      }),
      "returns its server's OK instead of a reply": on(
        "acquire",
        async (request, node) => ((await node.acquire(request)).granted ? "OK" : null) as unknown as AcquireReply,
      ),
      "never replies": on("acquire", () => new Promise(() => {})),
      "empties the list of resources that it was given": on("acquire", ({ resources, ...rest }, node) =>
        node.acquire({ ...rest, resources: (resources as string[]).splice(0) }),
      ),
    },
    "acquire() denies a resource that another owner holds, through either client": {
      "returns a negative wait, as some servers do for a key without a ttl": (node) =>
        withDenials(node, () => ({ granted: false, retryAfterMs: -1 })),
      "lists as held a resource that was not requested": (node) =>
        withHeldResources(node, ({ resources }) => [...resources, "not asked for"]),
      "returns an empty list of held resources": (node) => withHeldResources(node, () => []),
    },
    "extend() without rejoin of a resource that is free changes nothing": {
      "omits rejoined when it returns not held": on("extend", async (request, node) => {
        const reply = await node.extend(request);
        return (reply.held ? reply : { held: false }) as ExtendReply;
      }),
    },
    "release() frees the owner's claim for the next owner, and keeps the counter": {
      "returns the number of freed resources from a release": on(
        "release",
        async (request, node) =>
          ({ released: Number((await node.release(request)).released) }) as unknown as ReleaseReply,
      ),
    },
    "acquire() rejects a malformed request, and changes nothing": {
      "rounds a ttl that is not a valid number of milliseconds": on("acquire", (request, node) =>
        node.acquire({ ...request, ttlMs: Math.max(1, Math.round(request.ttlMs) || 1) }),
      ),
      "grants a claim on no resources": on("acquire", async (request, node) =>
        request.resources?.length === 0 ? { granted: true, fence: request.fenceHint } : node.acquire(request),
      ),
      "takes over from an owner that is not a string": on("acquire", async ({ takeover, ...request }, node) => {
        return node.acquire(takeover ? { ...request, takeover: String(takeover) } : request);
      }),
      "adds a waiter that is not a string to the waiting list": on("acquire", async ({ waiter, ...request }, node) => {
        return node.acquire(waiter ? { ...request, waiter: String(waiter) } : request);
      }),
      "shares for any truthy value": on("acquire", (request, node) =>
        node.acquire({ ...request, shared: Boolean(request.shared) }),
      ),
    },
    "extend() rejects a malformed request, and changes nothing": {
      "extends for an empty owner": on("extend", async (request, node) =>
        request.owner ? node.extend(request) : { held: false, rejoined: false },
      ),
      "extends a shared claim for any truthy value": on("extend", (request, node) =>
        node.extend({ ...request, shared: Boolean(request.shared) }),
      ),
      "rejoins for any truthy value": on("extend", (request, node) =>
        node.extend({ ...request, rejoin: Boolean(request.rejoin) }),
      ),
    },
    "release() rejects a malformed request, and changes nothing": {
      "releases for an empty owner": on("release", async (request, node) =>
        request.owner ? node.release(request) : { released: false },
      ),
      "undoes for any truthy value": on("release", (request, node) =>
        node.release({ ...request, undo: Boolean(request.undo) }),
      ),
    },
  }),
  ...brokenIf(["inspect"], {
    "inspect() of a free resource returns no owner and the last fence": {
      "returns an undefined owner when it inspects a free resource": on("inspect", async (resource, node) => {
        const { owner, ...view } = await node.inspect(resource);
        return { ...view, owner: owner ?? undefined } as NodeView;
      }),
    },
  }),
];
