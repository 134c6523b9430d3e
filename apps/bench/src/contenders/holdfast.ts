/** Holdfast with its defaults. */

import { type LockNode, Redlock } from "@holdfast/core";
import { disconnect } from "@holdfast/interop/clients";
import { ioredisNode } from "@holdfast/ioredis";
import { memoryNode } from "@holdfast/memory";
import { nodeRedisNode } from "@holdfast/node-redis";
import { destroy, ioredisClients, nodeRedisClients } from "./clients.ts";
import type { Client, Connect, Settings } from "./contender.ts";

export const connectIoredis: Connect = async (ports, settings) => {
  const clients = await ioredisClients(ports);
  return holdfastClient(
    clients.map((client) => ioredisNode(client)),
    settings,
    () => disconnect(clients),
  );
};

export const connectNodeRedis: Connect = async (ports, settings) => {
  const clients = await nodeRedisClients(ports);
  return holdfastClient(
    clients.map((client) => nodeRedisNode(client)),
    settings,
    () => destroy(clients),
  );
};

/** As many nodes in this process as there would be servers. */
export const connectMemory: Connect = async (ports, settings) =>
  holdfastClient(
    ports.map(() => memoryNode()),
    settings,
    () => {},
  );

function holdfastClient(nodes: readonly LockNode[], { isPatient }: Settings, disconnectAll: () => void): Client {
  const redlock = new Redlock(nodes, isPatient ? { nodeTimeoutMs: 5_000 } : {});
  return {
    acquire: (key, ttlMs) => redlock.acquire(key, { ttlMs }).then((lock) => () => lock.release()),
    async close() {
      await redlock.close();
      disconnectAll();
    },
  };
}
