import { type BrokenNode, brokenIf } from "./broken-node.ts";

/** Faults in how a node is closed. */
export const brokenCloses: readonly BrokenNode[] = [
  ...brokenIf(["close"], {
    "close() changes neither claims nor fence counters, and is safe to repeat": {
      "frees its claims when it is closed": (node) => {
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
      "rejects when it is closed again": (node) => {
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
  }),
  ...brokenIf(["close", "watch"], {
    "close() ends the watches of its node": {
      "keeps notifying watchers after it was closed": () => ({ close: async () => {} }),
    },
  }),
];
