import type { LockNode } from "@holdfast/core";
import { dayMs, minuteMs } from "../durations.ts";
import type { NodeMistake } from "./mistake.ts";

/** Changes the ttl of every claim and every extension. */
function withTtl(node: LockNode, change: (ttlMs: number) => number): Partial<LockNode> {
  return {
    acquire: (request) => node.acquire({ ...request, ttlMs: change(request.ttlMs) }),
    extend: (request) => node.extend({ ...request, ttlMs: change(request.ttlMs) }),
  };
}

/** Changes what a denial says about the wait. */
function withRetryAfter(node: LockNode, change: (retryAfterMs: number) => number): Partial<LockNode> {
  return {
    async acquire(request) {
      const reply = await node.acquire(request);
      return reply.granted ? reply : { granted: false, retryAfterMs: change(reply.retryAfterMs ?? 0) };
    },
  };
}

/** Mistakes about how long a claim lasts, and about what is said of it. */
export const brokenTimes: readonly NodeMistake[] = [
  {
    mistake: "ends claims a little early",
    caughtBy: "a claim is kept for its ttl at least, and then is free",
    needs: ["advance"],
    breakIt: (node) => withTtl(node, (ttlMs) => Math.ceil(ttlMs * 0.9)),
  },
  {
    mistake: "ends claims after a few milliseconds, whatever their ttl",
    caughtBy: "a claim that is not extended stays for a long ttl",
    breakIt: (node) => withTtl(node, (ttlMs) => Math.min(ttlMs, 5)),
  },
  {
    mistake: "keeps claims until they are released",
    caughtBy: "a claim is kept for its ttl at least, and then is free",
    breakIt: (node) => withTtl(node, () => 365 * dayMs),
  },
  {
    mistake: "keeps claims for whole seconds",
    caughtBy: "a claim is kept for its ttl at least, and then is free",
    needs: ["advance"],
    breakIt: (node) => withTtl(node, (ttlMs) => Math.ceil(ttlMs / 1000) * 1000),
  },
  {
    mistake: "takes milliseconds for seconds",
    caughtBy: "a claim is kept for its ttl at least, and then is free",
    breakIt: (node) => withTtl(node, (ttlMs) => ttlMs * 1000),
  },
  {
    mistake: "ends at once what is to last for longer than 32 bits of milliseconds",
    caughtBy: "a claim for thirty days is granted, and stays",
    breakIt: (node) => withTtl(node, (ttlMs) => (ttlMs < 2 ** 31 ? ttlMs : 1)),
  },
  {
    mistake: "cuts a claim short when it is extended for less",
    caughtBy: "extend() of a held claim for less than it will be kept leaves it as it is",
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
    mistake: "sets no ttl in an extension",
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
    mistake: "claims a held claim anew, for less, where it may rejoin",
    caughtBy: "extend() with rejoin of a held claim for less than it will be kept leaves it as it is",
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
    mistake: "does not prolong a held claim where it may rejoin",
    caughtBy: "extend() with rejoin of a held claim makes it last longer",
    breakIt: (node) => ({
      async extend(request) {
        const reply = await node.extend({ ...request, ttlMs: 1, rejoin: false });
        return reply.held || !request.rejoin ? reply : node.extend(request);
      },
    }),
  },
  {
    mistake: "cuts short what would last longer of several resources that it extends, and says nothing of the wait",
    caughtBy: "extend() of several held resources makes each last longer, and none end sooner",
    sees: "inspect",
    needs: ["advance"],
    breakIt: (node) => ({
      acquire: async (request) => {
        const reply = await node.acquire(request);
        return reply.granted ? reply : { granted: false };
      },
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
    mistake: "keeps an extended claim three times as long as asked",
    caughtBy: "extend() of a held claim keeps it for the ttl of the request, from then on",
    needs: ["advance"],
    breakIt: (node) => ({ extend: (request) => node.extend({ ...request, ttlMs: 3 * request.ttlMs }) }),
  },
  {
    mistake: "keeps a rejoined claim three times as long as asked",
    caughtBy: "extend() with rejoin keeps the new claim for the ttl of the request",
    needs: ["advance"],
    breakIt: (node) => ({
      async extend(request) {
        const reply = await node.extend({ ...request, rejoin: false });
        return reply.held || !request.rejoin ? reply : node.extend({ ...request, ttlMs: 3 * request.ttlMs });
      },
    }),
  },
  {
    mistake: "prolongs a claim whose command was resent",
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
    mistake: "keeps a claim that was taken over for what the old owner had left",
    caughtBy: "acquire() with takeover keeps the claim for the ttl of the request, longer",
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
    mistake: "names a wait in seconds",
    caughtBy: "acquire() names the longest wait among several claims in the way, if it names one",
    breakIt: (node) => withRetryAfter(node, (retryAfterMs) => retryAfterMs / 1000),
  },
  {
    mistake: "names the wait for a claim that it may take over",
    caughtBy: "acquire() with takeover names the wait for the claims that it may not take over, if it names one",
    breakIt: (node) => ({
      acquire: async (request) => {
        const reply = await node.acquire(request);
        return reply.granted ? reply : node.acquire({ ...request, owner: "who waits for all", takeover: "nobody" });
      },
    }),
  },
  {
    mistake: "names a moment where a wait is asked for",
    caughtBy: "acquire() names a wait within the ttl of the claim in the way, if it names one",
    breakIt: (node) => withRetryAfter(node, (retryAfterMs) => Date.now() + retryAfterMs),
  },
  {
    mistake: "tells in inspect() the ttl of the claim, not what remains",
    caughtBy: "inspect() tells a remaining time that runs down",
    sees: "inspect",
    breakIt: (node) => ({
      async inspect(resource) {
        const view = await node.inspect(resource);
        return { ...view, remainingMs: view.remainingMs === null ? null : minuteMs };
      },
    }),
  },
  {
    mistake: "forgets in inspect() the counter of what is free",
    caughtBy: "inspect() of a released resource tells that it is free, and the fence it had",
    sees: "inspect",
    breakIt: (node) => ({
      async inspect(resource) {
        const view = await node.inspect(resource);
        return view.owner === null ? { ...view, fence: 0 } : view;
      },
    }),
  },
];
