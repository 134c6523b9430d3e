import type { BrokenWrapper } from "./broken-node.ts";

/** Faults in how a node is closed. */
export const brokenCloses: readonly BrokenWrapper[] = [
  {
    fault: "frees its claims when it is closed",
    caughtBy: "close() changes neither claims nor fence counters, and is safe to repeat",
    sees: "close",
    breakIt: (node) => {
      const claims: Parameters<typeof node.acquire>[0][] = [];
      return {
        acquire(request) {
          claims.push(request);
          return node.acquire(request);
        },
        async close() {
          for (const { resources, owner, timeoutMs } of claims) await node.release({ resources, owner, timeoutMs });
          await node.close();
        },
      };
    },
  },
  {
    fault: "rejects when it is closed again",
    caughtBy: "close() changes neither claims nor fence counters, and is safe to repeat",
    sees: "close",
    breakIt: (node) => {
      let isClosed = false;
      return {
        async close() {
          if (isClosed) throw new Error("it is closed");
          isClosed = true;
          await node.close();
        },
      };
    },
  },
  {
    fault: "keeps notifying watchers after it was closed",
    caughtBy: "close() ends the watches of its node",
    sees: "close",
    needs: ["watch"],
    breakIt: () => ({ close: async () => {} }),
  },
];
