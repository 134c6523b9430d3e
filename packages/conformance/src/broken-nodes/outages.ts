import type { LockNode } from "@holdfast/core";
import type { BrokenWrapper } from "./broken-node.ts";

/** Rejects a call that it cannot send, and sends it later, before the next claim. */
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

/** Keeps a connection open for good: that of a watch that never ends. */
async function leak(node: Required<LockNode>): Promise<void> {
  await node.watch(["what nobody releases"], () => {});
}

/** Faults while the server is unreachable, and in the connections to it. */
export const brokenOutages: readonly BrokenWrapper[] = [
  {
    fault: "never settles while its server is unreachable",
    caughtBy: "acquire() rejects in time while the server is gone, and neither grants nor denies",
    needs: ["server"],
    breakIt: (node) => ({ acquire: (request) => node.acquire(request).catch(() => new Promise(() => {})) }),
  },
  {
    fault: "denies while its server is unreachable",
    caughtBy: "acquire() rejects in time while the server is gone, and neither grants nor denies",
    needs: ["server"],
    breakIt: (node) => ({ acquire: (request) => node.acquire(request).catch(() => ({ granted: false })) }),
  },
  {
    fault: "answers not held while its server is unreachable",
    caughtBy: "extend() rejects in time while the server is gone, and says nothing of the claim",
    needs: ["server"],
    breakIt: (node) => ({
      extend: (request) => node.extend(request).catch(() => ({ held: false, rejoined: false })),
    }),
  },
  {
    fault: "answers a release without waiting for its server",
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
    fault: "never settles a release that its server did not answer",
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
    fault: "answers that a resource is free while its server is unreachable",
    caughtBy: "inspect() rejects in time while the server is gone",
    sees: "inspect",
    needs: ["server"],
    breakIt: (node) => ({
      inspect: (resource) => node.inspect(resource).catch(() => ({ owner: null, remainingMs: null, fence: 0 })),
    }),
  },
  {
    fault: "never recovers from an outage",
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
    fault: "keeps a claim that it could not send, and sends it when the server is back",
    caughtBy: "acquire() that was rejected while the server was gone claims nothing when it is back",
    needs: ["server"],
    breakIt: (node) => sentLater(node, "acquire"),
  },
  {
    fault: "keeps an extension that it could not send, and sends it when the server is back",
    caughtBy: "extend() that was rejected while the server was gone claims nothing when it is back",
    needs: ["server"],
    breakIt: (node) => sentLater(node, "extend"),
  },
  {
    fault: "answers that it watches although its server never heard of the watch",
    caughtBy: "watch() rejects in time while the server is gone, and works when it is back",
    sees: "watch",
    needs: ["server"],
    breakIt: (node) => ({ watch: (resources, tell) => node.watch(resources, tell).catch(() => async () => {}) }),
  },
  {
    fault: "announces no releases after an outage",
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
    fault: "keeps the connection of a watch open after the watch has ended",
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
    fault: "keeps a connection open for each takeover",
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
    fault: "keeps a connection open for each inspection",
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
    fault: "keeps one more connection open after each outage",
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
