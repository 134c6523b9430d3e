import type { LockNode } from "@holdfast/core";
import { type BrokenNode, brokenIf, on } from "./broken-node.ts";

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
export const brokenOutages: readonly BrokenNode[] = [
  ...brokenIf(["server"], {
    "acquire() rejects in time while the server is unreachable, and neither grants nor denies": {
      "never settles while its server is unreachable": on("acquire", (request, node) =>
        node.acquire(request).catch(() => new Promise(() => {})),
      ),
      "denies while its server is unreachable": on("acquire", (request, node) =>
        node.acquire(request).catch(() => ({ granted: false })),
      ),
    },
    "extend() rejects in time while the server is unreachable, and reports nothing about the claim": {
      "returns not held while its server is unreachable": on("extend", (request, node) =>
        node.extend(request).catch(() => ({ held: false, rejoined: false })),
      ),
    },
    "release() does not resolve while the server is unreachable, and settles in time after the outage": {
      "resolves a release without waiting for its server": on("release", async (request, node) => {
        node.release(request).catch(() => {});
        return { released: true };
      }),
      "never settles a release that its server did not answer": (node) => {
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
    "the same clients work again after each outage": {
      "never recovers from an outage": (node) => {
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
    "acquire() and extend() that were rejected during an outage claim nothing afterwards": {
      "queues a claim that it could not send, and sends it after the outage": (node) => sentLater(node, "acquire"),
      "queues an extension that it could not send, and sends it after the outage": (node) => sentLater(node, "extend"),
    },
  }),
  ...brokenIf(["inspect", "server"], {
    "inspect() rejects in time while the server is unreachable": {
      "reports a resource as free while its server is unreachable": on("inspect", (resource, node) =>
        node.inspect(resource).catch(() => ({ owner: null, remainingMs: null, fence: 0 })),
      ),
    },
  }),
  ...brokenIf(["watch", "server"], {
    "watch() rejects in time while the server is unreachable, and works after the outage": {
      "resolves watch() although its server never received it": (node) => ({
        watch: (resources, tell) => node.watch(resources, tell).catch(() => async () => {}),
      }),
    },
    "watch() started before an outage notifies of releases after it": {
      "sends no notifications after an outage": (node) => {
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
    "ended watches leave no connection open": {
      "keeps the connection of a watch open after the watch has ended": (node) => ({
        async watch(resources, tell) {
          await leak(node);
          return node.watch(resources, tell);
        },
      }),
    },
    "calls that are granted, denied, resent or rejected leave no connection open": {
      "keeps a connection open for each takeover": on("acquire", async (request, node) => {
        if (request.takeover !== undefined) await leak(node);
        return node.acquire(request);
      }),
    },
    "outages leave no connection open": {
      "keeps one more connection open after each outage": (node) => {
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
  }),
];
