import type { LockNode } from "@holdfast/core";
import { type BrokenNode, broken, brokenIf, forgetting, on, withDenials, withGrants } from "./broken-node.ts";

/** Counts fences in the client instead of on the server. */
function countingByItself(node: LockNode): Partial<LockNode> {
  const counters = new Map<string, number>();
  return withGrants(node, (_, { resources }) => {
    const [resource] = resources as [string];
    const fence = (counters.get(resource) ?? 0) + 1;
    counters.set(resource, fence);
    return fence;
  });
}

/**
 * Keeps one counter for all resources in the wrapper.
 *
 * @param advance returns the fence of a grant, given the counter and the last fence granted on the resource
 * @param raise returns the counter after an extension, given the counter and the highest fence of the resource
 */
function sharingOneCounter(
  node: LockNode,
  advance: (counter: number, last: number) => number,
  raise: (counter: number, extended: number) => number,
): Partial<LockNode> {
  let counter = 0;
  const granted = new Map<string, number>();
  return {
    ...withGrants(node, (_, { resources, fenceHint }) => {
      const [resource] = resources as [string];
      counter = Math.max(advance(counter, granted.get(resource) ?? 0), fenceHint);
      granted.set(resource, counter);
      return counter;
    }),
    async extend(request) {
      const reply = await node.extend(request);
      if (!reply.held) return reply;
      counter = raise(counter, reply.fence);
      return { held: true, fence: counter };
    },
  };
}

/** Faults in the fence counters. Each of them can give two locks the same fencing token. */
export const brokenFences: readonly BrokenNode[] = [
  ...broken({
    "the fence of a grant is one more than the counter, after a release by either client": {
      "counts fences separately in each process": { perClient: countingByItself },
    },
    "extend() of a held claim raises a lower counter to the fence, and leaves a higher one alone": {
      "confirms a fence although the counter is already higher": on("extend", async (request, node) => {
        const reply = await node.extend(request);
        return reply.held ? { held: true, fence: request.fence } : reply;
      }),
    },
    "extend() with rejoin of a held claim raises a lower counter to the fence, and leaves a higher one alone": {
      "reports a raised counter of a held claim, but raises it only without rejoin": on(
        "extend",
        async (request, node) => {
          if (!request.rejoin) return node.extend(request);
          const reply = await node.extend({ ...request, fence: 1, rejoin: false });
          return reply.held ? { held: true, fence: Math.max(reply.fence, request.fence) } : node.extend(request);
        },
      ),
    },
    "extend() with rejoin claims a free resource again, and returns rejoined the first time only": {
      "returns held after it has rejoined": on("extend", async (request, node) => {
        const reply = await node.extend(request);
        return reply.held || !reply.rejoined ? reply : node.extend(request);
      }),
    },
    "extend() with rejoin sets the counter to the fence of the request if that is higher": {
      "does not raise the counter when it rejoins": on("extend", async (request, node) => {
        const reply = await node.extend({ ...request, rejoin: false });
        return reply.held || !request.rejoin ? reply : node.extend({ ...request, fence: 1 });
      }),
    },
    "the fence is exactly the hint if that is above the counter": {
      "ignores the hint": on("acquire", (request, node) => node.acquire({ ...request, fenceHint: 1 })),
    },
    "a hint is limited to a day ahead of the store's clock, or of the adapter's": {
      "accepts any hint, however far ahead of its clock": (node) =>
        withGrants(node, async (fence, request) => {
          await node.extend({ ...request, fence: request.fenceHint, rejoin: false });
          return Math.max(fence, request.fenceHint);
        }),
    },
    "the fence is exactly the hint if that is the time in microseconds": {
      "keeps fourteen digits of a counter, as Lua does when it converts a number to a string": on(
        "acquire",
        (request, node) => node.acquire({ ...request, fenceHint: Number(request.fenceHint.toPrecision(14)) }),
      ),
    },
    "the counter of a resource advances with each of its grants, whatever other resources do": {
      "does not advance a shared counter that another resource has advanced since the last grant": (node) =>
        sharingOneCounter(node, (counter, last) => (counter > last ? counter : counter + 1), Math.max),
    },
    "the counter of a resource is no higher than if all resources shared it": {
      "raises the counters of other resources by more than the fence that it grants": (node) =>
        sharingOneCounter(
          node,
          (counter) => counter + 10,
          (counter, extended) => Math.max(counter, extended) + 10,
        ),
    },
  }),
  ...brokenIf(["inspect"], {
    "extend() without rejoin of a resource that is free changes nothing": {
      "confirms a claim that has expired": on("extend", async (request, node) => {
        const reply = await node.extend(request);
        const { owner, fence } = await node.inspect(request.resources[0] as string);
        return owner === null && fence > 0 ? { held: true, fence: Math.max(fence, request.fence) } : reply;
      }),
    },
    "acquire() resent by the holder grants again with the same fence, whatever its hint": {
      "advances the counter for a resent request": on("acquire", async (request, node) => {
        const { owner, remainingMs, fence } = await node.inspect(request.resources[0] as string);
        if (owner !== request.owner || remainingMs === null) return node.acquire(request);
        await node.extend({ ...request, ttlMs: Math.ceil(remainingMs), fence: fence + 1, rejoin: false });
        return node.acquire(request);
      }),
    },
    "a hint beyond this limit, however often it is sent, advances the counter no faster than the clock": {
      "limits a hint only for a resource without a counter": on("acquire", async (request, node) => {
        const { fence: before } = await node.inspect(request.resources[0] as string);
        const reply = await node.acquire(request);
        if (!reply.granted || before === 0 || reply.fence >= request.fenceHint) return reply;
        await node.extend({ ...request, fence: request.fenceHint, rejoin: false });
        return { granted: true, fence: request.fenceHint };
      }),
    },
    "acquire() changes neither holder, ttl nor counter when it is denied": {
      "advances the counter for a claim that it denies": (node) =>
        withDenials(node, async (denial, request) => {
          const [resource] = request.resources as [string];
          const { owner, remainingMs, fence } = await node.inspect(resource);
          if (owner === null || remainingMs === null) return denial;
          const raise = { resources: [resource], owner, ttlMs: remainingMs, fence: fence + 1, rejoin: false };
          await node.extend({ ...request, ...raise });
          return denial;
        }),
    },
    "the fence of several resources is one more than their highest counter, for each of them": {
      "advances the counter of each of several resources separately": on("acquire", async (request, node) => {
        const views = await Promise.all(request.resources.map((resource) => node.inspect(resource)));
        if (views.some(({ owner }) => owner !== null)) return node.acquire(request);
        const claims = request.resources.map((resource) => node.acquire({ ...request, resources: [resource] }));
        const fences = (await Promise.all(claims)).map((reply) => (reply.granted ? reply.fence : 0));
        return { granted: true, fence: Math.max(...fences) };
      }),
    },
  }),
  ...brokenIf(["inspect", "ownCounters"], {
    "extend() with rejoin advances the counter, as a grant does": {
      "rejoins without advancing the counter": forgetting((node, forget) => ({
        async extend(request) {
          const [resource] = request.resources as [string];
          const { owner, fence } = await node.inspect(resource);
          if (owner !== null || !request.rejoin) return node.extend(request);
          forget(resource);
          await node.acquire({ ...request, fenceHint: Math.max(fence, request.fence) });
          return { held: false, rejoined: true };
        },
      })),
    },
    "the fence of a grant is one more than the counter, after an expiry": {
      "forgets the counter when the claim expires": forgetting((node, forget) => {
        const claimed = new Set<string>();
        return {
          async acquire(request) {
            for (const resource of request.resources) {
              if (claimed.has(resource) && (await node.inspect(resource)).owner === null) forget(resource);
              claimed.add(resource);
            }
            return node.acquire(request);
          },
          async release(request) {
            for (const resource of request.resources) claimed.delete(resource);
            return node.release(request);
          },
        };
      }),
    },
    "acquire() with takeover passes the claim to the new owner, and advances the counter": {
      "does not advance the counter in a takeover": forgetting((node, forget) => ({
        async acquire(request) {
          const [resource] = request.resources as [string];
          const { owner, fence } = await node.inspect(resource);
          if (owner === null || owner !== request.takeover) return node.acquire(request);
          forget(resource);
          return node.acquire({ ...request, fenceHint: Math.max(fence, request.fenceHint) });
        },
      })),
    },
  }),
  ...brokenIf(["ownCounters"], {
    "release() frees the owner's claim for the next owner, and keeps the counter": {
      "forgets the counter with the claim": forgetting((node, forget) => ({
        async release(request) {
          const reply = await node.release(request);
          if (reply.released) request.resources.forEach(forget);
          return reply;
        },
      })),
    },
    "the counter of a resource advances with each of its grants, whatever other resources do": {
      "sets a shared counter to the highest fence of the resource of the latest extension": (node) =>
        sharingOneCounter(
          node,
          (counter) => counter + 1,
          (_, extended) => extended,
        ),
    },
    "extend() of several held resources raises each lower counter, and returns the highest": {
      "raises only the counter of the first of several extended resources": on("extend", async (request, node) => {
        const { resources, fence } = request;
        if (resources.length === 1) return node.extend(request);
        await node.extend({ ...request, resources: resources.slice(0, 1), fence, rejoin: false });
        return node.extend({ ...request, fence: 1 });
      }),
    },
  }),
];
