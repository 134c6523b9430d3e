import type { LockNode } from "@holdfast/core";
import { dayMs, minuteMs } from "../world/durations.ts";
import { type BrokenWrapper, withDenials } from "./broken-node.ts";

/** Changes the ttl of every claim and every extension. */
function withTtl(node: LockNode, change: (ttlMs: number) => number): Pick<LockNode, "acquire" | "extend"> {
  return {
    acquire: (request) => node.acquire({ ...request, ttlMs: change(request.ttlMs) }),
    extend: (request) => node.extend({ ...request, ttlMs: change(request.ttlMs) }),
  };
}

/** Changes the wait in a denial. */
function withRetryAfter(node: LockNode, change: (retryAfterMs: number) => number): Partial<LockNode> {
  return withDenials(node, ({ retryAfterMs = 0 }) => ({ granted: false, retryAfterMs: change(retryAfterMs) }));
}

/** Omits the wait from denials. */
function silent(node: Pick<LockNode, "acquire">): Pick<LockNode, "acquire"> {
  return withDenials(node, () => ({ granted: false }));
}

/** Faults in how long a claim lasts, and in the times in replies. */
export const brokenTimes: readonly BrokenWrapper[] = [
  {
    fault: "ends claims a little early",
    caughtBy: "a claim lasts for at least its ttl, and then the resource is free",
    needs: ["advance"],
    breakIt: (node) => withTtl(node, (ttlMs) => Math.ceil(ttlMs * 0.9)),
  },
  {
    fault: "rounds ttls down to hundredths of a second",
    caughtBy: "a claim lasts for at least its ttl, and then the resource is free",
    needs: ["advance"],
    breakIt: (node) => withTtl(node, (ttlMs) => Math.max(1, ttlMs - (ttlMs % 10))),
  },
  {
    fault: "ends claims two percent early",
    caughtBy: "a claim lasts for the whole of a ttl of seconds, however it was made",
    breakIt: (node) => withTtl(node, (ttlMs) => Math.ceil(ttlMs * 0.98)),
  },
  {
    fault: "ends claims two percent early, and hides the remaining time",
    caughtBy: "a claim lasts for the whole of a ttl of seconds, however it was made",
    sees: "inspect",
    breakIt: (node) => {
      const { acquire, extend } = withTtl(node, (ttlMs) => Math.ceil(ttlMs * 0.98));
      return {
        ...silent({ acquire }),
        extend,
        inspect: async (resource) => {
          const view = await node.inspect(resource);
          return view.remainingMs === null ? view : { ...view, remainingMs: view.remainingMs / 0.98 };
        },
      };
    },
  },
  {
    fault: "ends extended claims a few percent early",
    caughtBy: "a claim lasts for the whole of a ttl of seconds, however it was made",
    breakIt: (node) => ({ extend: (request) => node.extend({ ...request, ttlMs: Math.ceil(request.ttlMs * 0.96) }) }),
  },
  {
    fault: "ends claims of minutes one percent early",
    caughtBy: "the remaining time, if given, is never less than the ttl minus the time since the request",
    sees: "inspect",
    breakIt: (node) => withTtl(node, (ttlMs) => (ttlMs < minuteMs ? ttlMs : Math.ceil(ttlMs * 0.99))),
  },
  {
    fault: "ends claims after a few milliseconds, whatever their ttl",
    caughtBy: "a claim with a long ttl lasts without an extension",
    breakIt: (node) => withTtl(node, (ttlMs) => Math.min(ttlMs, 5)),
  },
  {
    fault: "keeps claims until they are released",
    caughtBy: "a claim lasts for at least its ttl, and then the resource is free",
    breakIt: (node) => withTtl(node, () => 365 * dayMs),
  },
  {
    fault: "keeps claims for whole seconds",
    caughtBy: "a claim lasts for at least its ttl, and then the resource is free",
    needs: ["advance"],
    breakIt: (node) => withTtl(node, (ttlMs) => Math.ceil(ttlMs / 1000) * 1000),
  },
  {
    fault: "treats milliseconds as seconds",
    caughtBy: "a claim lasts for at least its ttl, and then the resource is free",
    breakIt: (node) => withTtl(node, (ttlMs) => ttlMs * 1000),
  },
  {
    fault: "ends a claim at once if its ttl in milliseconds exceeds 31 bits",
    caughtBy: "a claim for thirty days is granted and lasts",
    breakIt: (node) => withTtl(node, (ttlMs) => (ttlMs < 2 ** 31 ? ttlMs : 1)),
  },
  {
    fault: "cuts a claim short when it is extended for less",
    caughtBy: "extend() of a held claim with less than its remaining ttl does not shorten it",
    breakIt: (node) => ({
      async extend(request) {
        const reply = await node.extend(request);
        if (!reply.held) return reply;
        await node.release(request);
        await node.acquire({ ...request, fenceHint: 1 });
        return reply;
      },
    }),
  },
  {
    fault: "does not change the ttl in an extension",
    caughtBy: "extend() of a held claim makes it last longer",
    sees: "inspect",
    breakIt: (node) => ({
      async extend(request) {
        const { remainingMs } = await node.inspect(request.resources[0] as string);
        return node.extend({ ...request, ttlMs: remainingMs ?? request.ttlMs });
      },
    }),
  },
  {
    fault: "claims a held claim again, for a shorter ttl, if rejoin is set",
    caughtBy: "extend() with rejoin of a held claim with less than its remaining ttl does not shorten it",
    breakIt: (node) => ({
      async extend(request) {
        const reply = await node.extend(request);
        if (!reply.held || !request.rejoin) return reply;
        await node.release(request);
        await node.acquire({ ...request, fenceHint: 1 });
        return reply;
      },
    }),
  },
  {
    fault: "does not prolong a held claim if rejoin is set",
    caughtBy: "extend() with rejoin of a held claim makes it last longer",
    breakIt: (node) => ({
      async extend(request) {
        const reply = await node.extend({ ...request, ttlMs: 1, rejoin: false });
        return reply.held || !request.rejoin ? reply : node.extend(request);
      },
    }),
  },
  {
    fault: "shortens those of several extended claims that would last longer, and gives no wait",
    caughtBy: "extend() of several held resources prolongs each, and shortens none",
    sees: "inspect",
    needs: ["advance"],
    breakIt: (node) => ({
      ...silent(node),
      async extend(request) {
        const reply = await node.extend(request);
        for (const resource of reply.held ? request.resources : []) {
          const { remainingMs } = await node.inspect(resource);
          if (remainingMs === null || remainingMs <= request.ttlMs) continue;
          await node.release({ ...request, resources: [resource] });
          await node.acquire({ ...request, resources: [resource], fenceHint: 1 });
        }
        return reply;
      },
    }),
  },
  {
    fault: "keeps an extended claim three times as long as requested",
    caughtBy: "extend() of a held claim makes it last for the ttl of the request from then on",
    needs: ["advance"],
    breakIt: (node) => ({ extend: (request) => node.extend({ ...request, ttlMs: 3 * request.ttlMs }) }),
  },
  {
    fault: "keeps a rejoined claim three times as long as requested",
    caughtBy: "extend() with rejoin makes the new claim last for the ttl of the request",
    needs: ["advance"],
    breakIt: (node) => ({
      async extend(request) {
        const reply = await node.extend({ ...request, rejoin: false });
        return reply.held || !request.rejoin ? reply : node.extend({ ...request, ttlMs: 3 * request.ttlMs });
      },
    }),
  },
  {
    fault: "prolongs a claim whose request was resent",
    caughtBy: "acquire() resent by the holder does not prolong the claim",
    breakIt: (node) => ({
      async acquire(request) {
        const reply = await node.acquire(request);
        if (reply.granted) await node.extend({ ...request, fence: 1, rejoin: false });
        return reply;
      },
    }),
  },
  {
    fault: "keeps a claim that was taken over for the remaining ttl of the old owner",
    caughtBy: "acquire() with takeover makes the claim last for the ttl of the request, if that is longer",
    sees: "inspect",
    breakIt: (node) => ({
      async acquire(request) {
        const { owner, remainingMs } = await node.inspect(request.resources[0] as string);
        const isTakeover = owner !== null && owner === request.takeover;
        return node.acquire({ ...request, ttlMs: isTakeover ? (remainingMs ?? 1) : request.ttlMs });
      },
    }),
  },
  {
    fault: "gives a wait in seconds",
    caughtBy: "acquire() gives the longest wait among several blocking claims, if it gives one",
    breakIt: (node) => withRetryAfter(node, (retryAfterMs) => retryAfterMs / 1000),
  },
  {
    fault: "gives the wait for a claim that it may take over",
    caughtBy: "acquire() with takeover gives the wait for the claims that it may not take over, if it gives one",
    breakIt: (node) =>
      withDenials(node, (_, request) => node.acquire({ ...request, owner: "another owner", takeover: "nobody" })),
  },
  {
    fault: "gives a point in time instead of a wait",
    caughtBy: "acquire() gives a wait within the ttl of the blocking claim, if it gives one",
    breakIt: (node) => withRetryAfter(node, (retryAfterMs) => Date.now() + retryAfterMs),
  },
  {
    fault: "returns the ttl of the claim from inspect() instead of the remaining time",
    caughtBy: "inspect() returns a remaining time that runs down",
    sees: "inspect",
    breakIt: (node) => ({
      async inspect(resource) {
        const view = await node.inspect(resource);
        return { ...view, remainingMs: view.remainingMs === null ? null : minuteMs };
      },
    }),
  },
  {
    fault: "returns no counter when it inspects a free resource",
    caughtBy: "inspect() of a released resource returns no owner and the last fence",
    sees: "inspect",
    breakIt: (node) => ({
      async inspect(resource) {
        const view = await node.inspect(resource);
        return view.owner === null ? { ...view, fence: 0 } : view;
      },
    }),
  },
];
