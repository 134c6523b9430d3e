import type { LockNode } from "@holdfast/core";
import type { ServerOptions } from "../options/server-options.ts";
import type { Server } from "../servers/servers.ts";
import { within } from "../within.ts";

/** Counters that could not be removed in the end are forgotten so long after the last claim, in milliseconds. */
const fenceTtlMs = 1_000;
const removalTimeoutMs = 2_000;

/** Lock nodes like those of other commands, but that what they leave behind is soon forgotten. */
export interface BenchNodes {
  readonly nodes: readonly LockNode[];
  /** Removes all that was kept for these resources, as far as servers answer in time. */
  clear(resources: readonly string[]): Promise<void>;
}

/** Makes a node for each server; without any, one in this process. */
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
