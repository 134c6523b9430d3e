import type { LockNode } from "@holdfast/core";
import type { NodeMistake } from "./mistake.ts";

/** Rejects what it cannot send, and sends it all the same, with the next claim. */
function sentLater(node: LockNode, method: "acquire" | "extend"): Partial<LockNode> {
  const kept: (() => Promise<unknown>)[] = [];
  const send = async <R, A>(request: R, call: (request: R) => Promise<A>): Promise<A> => {
    try {
      return await call(request);
    } catch (error) {
      kept.push(() => call(request).catch(() => {}));
      throw error;
    }
  };
  return {
    async acquire(request) {
      for (const sendAgain of kept) await sendAgain();
      return method === "acquire" ? send(request, node.acquire) : node.acquire(request);
    },
    extend: (request) => (method === "extend" ? send(request, node.extend) : node.extend(request)),
  };
}

/** Keeps a connection open for good: the one of a watch that nobody ends. */
async function leak(node: Required<LockNode>): Promise<void> {
  await node.watch(["what nobody releases"], () => {});
}

/** Mistakes about a server that cannot be reached, and about connections to it. */
export const brokenOutages: readonly NodeMistake[] = [
  {
    mistake: "blocks for ever when its server is gone",
    caughtBy: "acquire() rejects in time while the server is gone, and neither grants nor denies",
    needs: ["server"],
    breakIt: (node) => ({ acquire: (request) => node.acquire(request).catch(() => new Promise(() => {})) }),
  },
  {
    mistake: "denies when its server is gone",
    caughtBy: "acquire() rejects in time while the server is gone, and neither grants nor denies",
    needs: ["server"],
    breakIt: (node) => ({ acquire: (request) => node.acquire(request).catch(() => ({ granted: false })) }),
  },
  {
    mistake: "says not held when its server is gone",
    caughtBy: "extend() rejects in time while the server is gone, and says nothing of the claim",
    needs: ["server"],
    breakIt: (node) => ({
      extend: (request) => node.extend(request).catch(() => ({ held: false, rejoined: false })),
    }),
  },
  {
    mistake: "answers a release without waiting for its server",
    caughtBy: "release() does not answer while the server is gone, and settles in time once it is back",
    needs: ["server"],
    breakIt: (node) => ({
      async release(request) {
        node.release(request).catch(() => {});
        return { released: true };
      },
    }),
  },
  {
    mistake: "never settles a release that its server did not answer",
    caughtBy: "release() does not answer while the server is gone, and settles in time once it is back",
    needs: ["server"],
    breakIt: (node) => {
      let isGone = false;
      return {
        acquire: (request) =>
          node.acquire(request).catch((error) => {
            isGone = true;
            throw error;
          }),
        release: (request) => {
          const reply = node.release(request);
          return new Promise((resolve) => {
            reply.then((answer) => isGone || resolve(answer)).catch(() => {});
          });
        },
      };
    },
  },
  {
    mistake: "says that a resource is free when its server is gone",
    caughtBy: "inspect() rejects in time while the server is gone",
    sees: "inspect",
    needs: ["server"],
    breakIt: (node) => ({
      inspect: (resource) => node.inspect(resource).catch(() => ({ owner: null, remainingMs: null, fence: 0 })),
    }),
  },
  {
    mistake: "never recovers from an outage",
    caughtBy: "the same clients work again when the server is back, time and again",
    needs: ["server"],
    breakIt: (node) => {
      let broken: Promise<never> | undefined;
      return {
        acquire: (request) =>
          broken ??
          node.acquire(request).catch((error) => {
            broken = Promise.reject(error);
            return broken;
          }),
      };
    },
  },
  {
    mistake: "keeps a claim that it could not send, and sends it when the server is back",
    caughtBy: "acquire() that was rejected while the server was gone claims nothing when it is back",
    needs: ["server"],
    breakIt: (node) => sentLater(node, "acquire"),
  },
  {
    mistake: "keeps an extension that it could not send, and sends it when the server is back",
    caughtBy: "extend() that was rejected while the server was gone claims nothing when it is back",
    needs: ["server"],
    breakIt: (node) => sentLater(node, "extend"),
  },
  {
    mistake: "begins a watch that its server has not heard of",
    caughtBy: "watch() rejects in time while the server is gone, and works when it is back",
    sees: "watch",
    needs: ["server"],
    breakIt: (node) => ({ watch: (resources, tell) => node.watch(resources, tell).catch(() => async () => {}) }),
  },
  {
    mistake: "hears no more of releases after an outage",
    caughtBy: "watch() that began before an outage hears of releases after it",
    sees: "watch",
    needs: ["server"],
    breakIt: (node) => {
      let isDeaf = false;
      return {
        acquire: (request) =>
          node.acquire(request).catch((error) => {
            isDeaf = true;
            throw error;
          }),
        watch: (resources, tell) => node.watch(resources, (resource) => isDeaf || tell(resource)),
      };
    },
  },
  {
    mistake: "keeps the connection of a watch that has ended",
    caughtBy: "watches that have ended leave no connection open",
    sees: "watch",
    needs: ["server"],
    breakIt: (node) => ({
      async watch(resources, tell) {
        await leak(node);
        return node.watch(resources, tell);
      },
    }),
  },
  {
    mistake: "keeps a connection for each takeover",
    caughtBy: "calls that are granted, denied or resent leave no connection open",
    sees: "watch",
    needs: ["server"],
    breakIt: (node) => ({
      async acquire(request) {
        if (request.takeover !== undefined) await leak(node);
        return node.acquire(request);
      },
    }),
  },
  {
    mistake: "keeps a connection for each inspection",
    caughtBy: "inspections leave no connection open",
    sees: "inspect",
    needs: ["watch", "server"],
    breakIt: (node) => ({
      async inspect(resource) {
        await leak(node);
        return node.inspect(resource);
      },
    }),
  },
  {
    mistake: "keeps a connection more after each outage",
    caughtBy: "outages leave no connection open",
    sees: "watch",
    needs: ["server"],
    breakIt: (node) => {
      let wasGone = false;
      return {
        async acquire(request) {
          const reply = await node.acquire(request).catch((error) => {
            wasGone = true;
            throw error;
          });
          if (wasGone) await leak(node);
          wasGone = false;
          return reply;
        },
      };
    },
  },
];
