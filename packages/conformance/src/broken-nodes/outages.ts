import type { LockNode } from "@holdfast/core";
import type { BrokenWrapper } from "./broken-node.ts";

/** Rejects a call that it cannot send, but sends it later, before the next claim. */
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

/** Leaks a connection: that of a watch that never ends. */
async function leak(node: Required<LockNode>): Promise<void> {
  await node.watch(["never released"], () => {});
}

/** Faults while the server is unreachable, and in the connections to it. */
export const brokenOutages: readonly BrokenWrapper[] = [
  {
    fault: "never settles while its server is unreachable",
    caughtBy: "acquire() rejects in time while the server is unreachable, and neither grants nor denies",
    needs: ["server"],
    breakIt: (node) => ({ acquire: (request) => node.acquire(request).catch(() => new Promise(() => {})) }),
  },
  {
    fault: "denies while its server is unreachable",
    caughtBy: "acquire() rejects in time while the server is unreachable, and neither grants nor denies",
    needs: ["server"],
    breakIt: (node) => ({ acquire: (request) => node.acquire(request).catch(() => ({ granted: false })) }),
  },
  {
    fault: "returns not held while its server is unreachable",
    caughtBy: "extend() rejects in time while the server is unreachable, and reports nothing about the claim",
    needs: ["server"],
    breakIt: (node) => ({
      extend: (request) => node.extend(request).catch(() => ({ held: false, rejoined: false })),
    }),
  },
  {
    fault: "resolves a release without waiting for its server",
    caughtBy: "release() does not resolve while the server is unreachable, and settles in time after the outage",
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
    caughtBy: "release() does not resolve while the server is unreachable, and settles in time after the outage",
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
    fault: "reports a resource as free while its server is unreachable",
    caughtBy: "inspect() rejects in time while the server is unreachable",
    sees: "inspect",
    needs: ["server"],
    breakIt: (node) => ({
      inspect: (resource) => node.inspect(resource).catch(() => ({ owner: null, remainingMs: null, fence: 0 })),
    }),
  },
  {
    fault: "never recovers from an outage",
    caughtBy: "the same clients work again after each outage",
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
    fault: "queues a claim that it could not send, and sends it after the outage",
    caughtBy: "acquire() that was rejected during an outage claims nothing afterwards",
    needs: ["server"],
    breakIt: (node) => sentLater(node, "acquire"),
  },
  {
    fault: "queues an extension that it could not send, and sends it after the outage",
    caughtBy: "extend() that was rejected during an outage claims nothing afterwards",
    needs: ["server"],
    breakIt: (node) => sentLater(node, "extend"),
  },
  {
    fault: "resolves watch() although its server never received it",
    caughtBy: "watch() rejects in time while the server is unreachable, and works after the outage",
    sees: "watch",
    needs: ["server"],
    breakIt: (node) => ({ watch: (resources, tell) => node.watch(resources, tell).catch(() => async () => {}) }),
  },
  {
    fault: "sends no notifications after an outage",
    caughtBy: "watch() started before an outage notifies of releases after it",
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
    caughtBy: "ended watches leave no connection open",
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
    fault: "keeps a connection open for each scan",
    caughtBy: "calls of raiseFloor() and scan() leave no connection open",
    sees: "watch",
    needs: ["floor", "server"],
    breakIt: (node) => ({
      async scan(request) {
        await leak(node);
        return node.scan(request);
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
