import type { LockNode } from "@holdfast/core";
import type { Server } from "../servers/server.ts";
import { within } from "../within.ts";

const removalTimeoutMs = 2_000;

/** Lock nodes whose traces on the servers are removed. */
export interface BenchNodes {
  readonly nodes: readonly LockNode[];
  /** Removes what the servers that reply in time keep of these resources. */
  clear(resources: readonly string[]): Promise<void>;
  /** Removes everything else, after the nodes are closed. */
  dispose(): Promise<void>;
}

/** Creates a node for each server, or one in this process if there are no servers. */
export async function benchNodes(servers: readonly Server[]): Promise<BenchNodes> {
  if (servers.length === 0) {
    const { memoryNode } = await import("@holdfast/memory");
    return { nodes: [memoryNode({ fenceTtlMs: 1_000 })], clear: async () => {}, dispose: async () => {} };
  }
  const benches = await Promise.all(servers.map((server) => server.openBench()));
  return {
    nodes: benches.map(({ node }) => node),
    async clear(resources) {
      await Promise.allSettled(benches.map((bench) => within(removalTimeoutMs, bench.clear(resources))));
    },
    async dispose() {
      await Promise.allSettled(benches.map((bench) => within(removalTimeoutMs, bench.dispose())));
    },
  };
}
