import type { LockNode } from "@holdfast/core";
import { dayMs, minuteMs } from "../world/durations.ts";
import { type BrokenNode, broken, brokenIf, claimAgain, on, withDenials } from "./broken-node.ts";

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
export const brokenTimes: readonly BrokenNode[] = [
  ...brokenIf(["advance"], {
    "a claim lasts for at least its ttl, and then the resource is free": {
      "ends claims a little early": (node) => withTtl(node, (ttlMs) => Math.ceil(ttlMs * 0.9)),
      "rounds ttls down to hundredths of a second": (node) =>
        withTtl(node, (ttlMs) => Math.max(1, ttlMs - (ttlMs % 10))),
      "keeps claims for whole seconds": (node) => withTtl(node, (ttlMs) => Math.ceil(ttlMs / 1000) * 1000),
    },
    "extend() of a held claim makes it last for the ttl of the request from then on": {
      "keeps an extended claim three times as long as requested": on("extend", (request, node) =>
        node.extend({ ...request, ttlMs: 3 * request.ttlMs }),
      ),
    },
    "extend() with rejoin makes the new claim last for the ttl of the request": {
      "keeps a rejoined claim three times as long as requested": on("extend", async (request, node) => {
        const reply = await node.extend({ ...request, rejoin: false });
        return reply.held || !request.rejoin ? reply : node.extend({ ...request, ttlMs: 3 * request.ttlMs });
      }),
    },
  }),
  ...broken({
    "a claim lasts for the whole of a ttl of seconds, however it was made": {
      "ends claims two percent early": (node) => withTtl(node, (ttlMs) => Math.ceil(ttlMs * 0.98)),
      "ends extended claims a few percent early": on("extend", (request, node) =>
        node.extend({ ...request, ttlMs: Math.ceil(request.ttlMs * 0.96) }),
      ),
    },
    "a claim with a long ttl lasts without an extension": {
      "ends claims after a few milliseconds, whatever their ttl": (node) =>
        withTtl(node, (ttlMs) => Math.min(ttlMs, 5)),
    },
    "a claim lasts for at least its ttl, and then the resource is free": {
      "keeps claims until they are released": (node) => withTtl(node, () => 365 * dayMs),
      "treats milliseconds as seconds": (node) => withTtl(node, (ttlMs) => ttlMs * 1000),
    },
    "a claim for thirty days is granted and extended, and lasts": {
      "ends a claim at once if its ttl in milliseconds exceeds 31 bits": (node) =>
        withTtl(node, (ttlMs) => (ttlMs < 2 ** 31 ? ttlMs : 1)),
    },
    "extend() of a held claim with less than its remaining ttl does not shorten it": {
      "cuts a claim short when it is extended for less": on("extend", async (request, node) => {
        const reply = await node.extend(request);
        if (reply.held) await claimAgain(request, node);
        return reply;
      }),
    },
    "extend() with rejoin of a held claim with less than its remaining ttl does not shorten it": {
      "claims a held claim again, for a shorter ttl, if rejoin is set": on("extend", async (request, node) => {
        const reply = await node.extend(request);
        if (reply.held && request.rejoin) await claimAgain(request, node);
        return reply;
      }),
    },
    "extend() with rejoin of a held claim makes it last for the ttl of the request from then on": {
      "does not prolong a held claim if rejoin is set": on("extend", async (request, node) => {
        const reply = await node.extend({ ...request, ttlMs: 1, rejoin: false });
        return reply.held || !request.rejoin ? reply : node.extend(request);
      }),
    },
    "acquire() resent by the holder neither prolongs nor shortens the claim": {
      "prolongs a claim whose request was resent": on("acquire", async (request, node) => {
        const reply = await node.acquire(request);
        if (reply.granted) await node.extend({ ...request, fence: 1, rejoin: false });
        return reply;
      }),
    },
    "acquire() gives the wait for the claim that lasts longest, and its holder, if it gives any": {
      "gives a wait in seconds": (node) => withRetryAfter(node, (retryAfterMs) => retryAfterMs / 1000),
    },
    "acquire() with takeover gives the wait for the claims that it may not take over, if it gives one": {
      "gives the wait for a claim that it may take over": (node) =>
        withDenials(node, (_, request) => node.acquire({ ...request, owner: "another owner", takeover: "nobody" })),
    },
    "acquire() gives a wait within the ttl of the blocking claim, if it gives one": {
      "gives a point in time instead of a wait": (node) =>
        withRetryAfter(node, (retryAfterMs) => Date.now() + retryAfterMs),
    },
  }),
  ...brokenIf(["inspect"], {
    "a claim lasts for the whole of a ttl of seconds, however it was made": {
      "ends claims two percent early, and hides the remaining time": (node) => {
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
    "the remaining time, if given, is never less than the ttl minus the time since the request": {
      "returns the ttl of the claim from inspect() instead of the remaining time": on(
        "inspect",
        async (resource, node) => {
          const view = await node.inspect(resource);
          return { ...view, remainingMs: view.remainingMs === null ? null : minuteMs };
        },
      ),
      "ends claims of minutes one percent early": (node) =>
        withTtl(node, (ttlMs) => (ttlMs < minuteMs ? ttlMs : Math.ceil(ttlMs * 0.99))),
    },
    "extend() of a held claim makes it last for the ttl of the request from then on": {
      "does not change the ttl in an extension": on("extend", async (request, node) => {
        const { remainingMs } = await node.inspect(request.resources[0] as string);
        return node.extend({ ...request, ttlMs: remainingMs ?? request.ttlMs });
      }),
    },
    "acquire() with takeover makes the claim last for the ttl of the request, longer or shorter": {
      "keeps a claim that was taken over for the remaining ttl of the old owner": on(
        "acquire",
        async (request, node) => {
          const { owner, remainingMs } = await node.inspect(request.resources[0] as string);
          const isTakeover = owner !== null && owner === request.takeover;
          return node.acquire({ ...request, ttlMs: isTakeover ? (remainingMs ?? 1) : request.ttlMs });
        },
      ),
    },
    "inspect() of a free resource returns no owner and the last fence": {
      "returns no counter when it inspects a free resource": on("inspect", async (resource, node) => {
        const view = await node.inspect(resource);
        return view.owner === null ? { ...view, fence: 0 } : view;
      }),
    },
  }),
  ...brokenIf(["inspect", "advance"], {
    "extend() of several held resources prolongs each, and shortens none": {
      "shortens those of several extended claims that would last longer, and gives no wait": (node) => ({
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
  }),
];
