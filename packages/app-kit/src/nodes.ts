import type { LockNode } from "@holdfast/core";
import { ioredisNode } from "@holdfast/ioredis";
import { nodeRedisNode } from "@holdfast/node-redis";
import {
  type Address,
  type ClientLibrary,
  type ClientOptions,
  connectIoredis,
  connectNodeRedis,
  disconnect,
} from "./clients.ts";

/** Lock nodes, each over a client of its own. */
export interface ConnectedNodes {
  readonly nodes: readonly LockNode[];
  /** Closes nodes and clients. */
  close(): Promise<void>;
}

/** Options of the nodes and of their clients. */
export interface NodesOptions extends ClientOptions {
  /** The names of the nodes. */
  readonly names?: readonly string[];
  readonly prefix?: string;
  readonly restartGuardMs?: number;
  readonly wakeUps?: boolean;
}

/** Connects a lock node to each server, and resolves when all are ready, or patience ends. */
export async function connectNodes(
  library: ClientLibrary,
  addresses: readonly Address[],
  { reconnectMs, patienceMs, names = [], ...options }: NodesOptions = {},
): Promise<ConnectedNodes> {
  const named = (index: number) => (names[index] === undefined ? options : { ...options, name: names[index] });
  if (library === "ioredis") {
    const clients = await connectIoredis(addresses, { reconnectMs, patienceMs });
    return connected(
      clients,
      clients.map((client, index) => ioredisNode(client, named(index))),
    );
  }
  const clients = await connectNodeRedis(addresses, { reconnectMs, patienceMs });
  return connected(
    clients,
    clients.map((client, index) => nodeRedisNode(client, named(index))),
  );
}

function connected(
  clients: Parameters<typeof disconnect>[0],
  nodes: readonly (LockNode & { close(): Promise<void> })[],
): ConnectedNodes {
  return {
    nodes,
    async close() {
      await Promise.all(nodes.map((node) => node.close()));
      disconnect(clients);
    },
  };
}
