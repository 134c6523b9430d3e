import type { LockNode, Observer, Redlock } from "@holdfast/core";
import { asAsked } from "../failures.ts";
import type { ServerOptions } from "../options/server-options.ts";
import { closeServers, openServers, type Server, untilConnected } from "./servers.ts";

/** Locks over the servers that were named. */
export interface LockService {
  readonly redlock: Redlock;
  /** What it locks on. */
  readonly nodes: readonly LockNode[];
  /** The servers behind the nodes; none where the only node is in this process. */
  readonly servers: readonly Server[];
}

/** Who is told, and what ends the waiting. */
export interface Circumstances {
  readonly observer?: Observer;
  /** Ends the waiting for connections when it aborts. */
  readonly interrupted?: AbortSignal;
}

/**
 * Connects, lends the service, and closes it and the connections, whatever happens: nothing that is still to be released is
 * left behind.
 *
 * @throws {UsageError} for options that do not fit together
 */
export async function withLockService<T>(
  options: ServerOptions,
  { observer, interrupted }: Circumstances,
  use: (service: LockService) => Promise<T>,
): Promise<T> {
  const servers = await asAsked(() => openServers(options));
  let redlock: Redlock | undefined;
  try {
    // Libraries are loaded where they are needed, as loading them is most of what a short command does.
    const { Redlock } = await import("@holdfast/core");
    const nodes = options.memory ? await nodesInMemory() : servers.map(({ node }) => node);
    const { ttlMs, nodeTimeoutMs } = options;
    redlock = await asAsked(() => new Redlock(nodes, { ttlMs, nodeTimeoutMs, observer }));
    await untilConnected(servers, interrupted);
    return await use({ redlock, nodes, servers });
  } finally {
    await redlock?.close();
    await closeServers(servers);
  }
}

async function nodesInMemory(): Promise<readonly LockNode[]> {
  const { memoryNode } = await import("@holdfast/memory");
  return [memoryNode()];
}
