import type { LockNode } from "@holdfast/core";
import type { ServerOptions } from "../options/server-options.ts";
import type { Server } from "../servers/servers.ts";
import { within } from "../within.ts";

/** How long counters that cannot be removed at the end outlive the last claim, in milliseconds. */
const fenceTtlMs = 1_000;
const removalTimeoutMs = 2_000;

/** Lock nodes whose traces on the servers disappear soon. */
export interface BenchNodes {
  readonly nodes: readonly LockNode[];
  /** Removes the counters and waiting lists of these resources from all servers that reply in time. */
  clear(resources: readonly string[]): Promise<void>;
}

/** Creates a node for each server, or one in this process if there are no servers. */
export async function benchNodes(
  servers: readonly Server[],
  { memory, prefix, restartGuardMs }: Pick<ServerOptions, "memory" | "prefix" | "restartGuardMs">,
): Promise<BenchNodes> {
  if (memory) {
    const { memoryNode } = await import("@holdfast/memory");
    return { nodes: [memoryNode({ fenceTtlMs })], clear: async () => {} };
  }
  const { lockNames } = await import("@holdfast/redis");
  const nodes = servers.map(({ makeNode }) => makeNode({ prefix, restartGuardMs, fenceTtlMs }));
  return {
    nodes,
    async clear(resources) {
      const keys = resources
        .map((resource) => lockNames(prefix, resource))
        .flatMap(({ fence, waitingList }) => [fence, waitingList]);
      const removals = servers
        .filter(({ client }) => client.status === "ready")
        .map(({ client }) => within(removalTimeoutMs, Promise.allSettled(keys.map((key) => client.del(key)))));
      await Promise.allSettled(removals);
    },
  };
}
