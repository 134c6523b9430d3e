import type { LockNode } from "@holdfast/core";
import { ioredisNode } from "@holdfast/ioredis";
import { nodeRedisNode } from "@holdfast/node-redis";
import { Redis } from "ioredis";
import {
  type Address,
  type ClientLibrary,
  type ClientOptions,
  connectIoredis,
  connectNodeRedis,
  disconnect,
} from "./clients.ts";

/** Options of the nodes and of their clients. */
export interface NodesOptions extends ClientOptions {
  /** The names of the nodes. */
  readonly names?: readonly string[];
  readonly prefix?: string;
  readonly restartGuardMs?: number;
  readonly wakeUps?: boolean;
}

/** Lock nodes, each over a client of its own. */
export type ConnectedNodes = Awaited<ReturnType<typeof connectNodes>>;

/** Connects a lock node to each server, and resolves when all are ready, or patience ends. */
export async function connectNodes(
  library: ClientLibrary,
  addresses: readonly Address[],
  { reconnectMs, patienceMs, names = [], ...options }: NodesOptions = {},
) {
  const connect = library === "ioredis" ? connectIoredis : connectNodeRedis;
  const clients = await connect(addresses, { reconnectMs, patienceMs });
  const nodes = clients.map((client, index): LockNode & { close(): Promise<void> } => {
    const named = names[index] === undefined ? options : { ...options, name: names[index] };
    return client instanceof Redis ? ioredisNode(client, named) : nodeRedisNode(client, named);
  });
  return {
    nodes,
    /** Closes nodes and clients. */
    async close() {
      await Promise.all(nodes.map((node) => node.close()));
      disconnect(clients);
    },
  };
}
