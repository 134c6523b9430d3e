import type { AcquireRequest } from "@holdfast/core/node";
import { type BrokenNode, broken, brokenIf, forgetting, on } from "./broken-node.ts";

/** The same request for the first hundred of its resources. */
function cut<Request extends { readonly resources: readonly string[] }>(request: Request): Request {
  return { ...request, resources: request.resources?.slice(0, 100) };
}

/** Faults that show only with many resources, claims or counters. */
export const brokenSizes: readonly BrokenNode[] = [
  ...broken({
    "acquire(), extend() and release() of 300 resources reach each of them": {
      "claims only the first hundred resources of a call": (node) => ({
        acquire: (request) => node.acquire(cut(request)),
        extend: (request) => node.extend(cut(request)),
        release: (request) => node.release(cut(request)),
      }),
      "releases only the first hundred resources of a call": on("release", (request, node) =>
        node.release(cut(request)),
      ),
    },
    "thousands of claims are held at once, and thousands of counters are kept": {
      "evicts the oldest claim beyond a thousand": (node) => {
        const claims = new Map<string, AcquireRequest>();
        return {
          async acquire(request) {
            const reply = await node.acquire(request);
            if (reply.granted) for (const resource of request.resources) claims.set(resource, request);
            for (const [resource, claim] of claims) {
              if (claims.size <= 1_000) break;
              claims.delete(resource);
              await node.release({ ...claim, resources: [resource] });
            }
            return reply;
          },
        };
      },
    },
  }),
  ...brokenIf(["ownCounters"], {
    "thousands of claims are held at once, and thousands of counters are kept": {
      "forgets the oldest counter beyond a thousand": forgetting((node, forget) => {
        const counters = new Set<string>();
        return {
          async release(request) {
            const reply = await node.release(request);
            if (reply.released) for (const resource of request.resources) counters.add(resource);
            for (const resource of counters) {
              if (counters.size <= 1_000) break;
              counters.delete(resource);
              forget(resource);
            }
            return reply;
          },
        };
      }),
    },
  }),
];
