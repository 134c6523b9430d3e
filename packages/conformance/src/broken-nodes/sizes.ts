import type { AcquireRequest } from "@holdfast/core/node";
import { type BrokenNode, broken, brokenIf, forgetful, on } from "./broken-node.ts";

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
    "acquire(), extend() and release() of 300 resources reach each of them": {
      "raises only the first hundred counters of a call": on("extend", async (request, node) =>
        request.resources.length > 100
          ? node.extend({ ...request, fence: 1 }).then((reply) => (reply.held ? node.extend(cut(request)) : reply))
          : node.extend(request),
      ),
    },
    "thousands of claims are held at once, and thousands of counters are kept": {
      "forgets the oldest counter beyond a thousand": (correct) => {
        const { node, forget } = forgetful(correct);
        const counters = new Set<string>();
        return {
          ...node,
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
      },
    },
  }),
];
