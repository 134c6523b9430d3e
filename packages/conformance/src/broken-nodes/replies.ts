import type { AcquireReply, AcquireRequest, ExtendReply, LockNode, NodeView, ReleaseReply } from "@holdfast/core/node";
import { type BrokenNode, broken, brokenIf, on, type Wrapper, withDenials } from "./broken-node.ts";

/** Replaces the held resources in each denial. */
export function withHeldResources(
  node: LockNode,
  name: (request: AcquireRequest) => readonly string[] | Promise<readonly string[]>,
): Partial<LockNode> {
  return withDenials(node, async (denial, request) => ({ ...denial, heldResources: await name(request) }));
}

/** Takes any value of a field as true or false. */
function truthy<M extends "acquire" | "extend" | "release">(method: M, field: string): Wrapper<LockNode> {
  return (node) => ({
    [method]: (request: never) => node[method]({ ...(request as object), [field]: Boolean(request[field]) } as never),
  });
}

/** Takes any value of a field of a claim as a string. */
function stringly(field: string): Wrapper<LockNode> {
  return on("acquire", (request, node) => {
    const value = (request as unknown as Record<string, unknown>)[field];
    return node.acquire(value ? { ...request, [field]: String(value) } : request);
  });
}

/** Faults in the shape of a reply, or in the handling of a request. */
export const brokenReplies: readonly BrokenNode[] = [
  ...broken({
    "acquire() grants a resource that was never claimed": {
      "returns the fence as a string": on("acquire", async (request, node) => {
        const reply = await node.acquire(request);
        return (reply.granted ? { ...reply, fence: String(reply.fence) } : reply) as AcquireReply;
      }),
      "never replies": on("acquire", () => new Promise(() => {})),
    },
    "acquire() denies a resource that another owner holds, through either client": {
      "returns a negative wait, as some servers do for a key without a ttl": (node) =>
        withDenials(node, () => ({ granted: false, retryAfterMs: -1 })),
      "lists as held a resource that was not requested": (node) =>
        withHeldResources(node, ({ resources }) => [...resources, "not asked for"]),
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
      "takes over from an owner that is not a string": stringly("takeover"),
      "adds a waiter that is not a string to the waiting list": stringly("waiter"),
      "shares for any truthy value": truthy("acquire", "shared"),
    },
    "extend() rejects a malformed request, and changes nothing": {
      "extends for an empty owner": on("extend", async (request, node) =>
        request.owner ? node.extend(request) : { held: false, rejoined: false },
      ),
      "extends a shared claim for any truthy value": truthy("extend", "shared"),
      "rejoins for any truthy value": truthy("extend", "rejoin"),
    },
    "release() rejects a malformed request, and changes nothing": {
      "releases for an empty owner": on("release", async (request, node) =>
        request.owner ? node.release(request) : { released: false },
      ),
      "undoes for any truthy value": truthy("release", "undo"),
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
