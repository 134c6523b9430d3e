/** Holdfast with its defaults. */

import { connectIoredis, connectNodeRedis, disconnect } from "@holdfast/app-kit/clients";
import { type LockNode, Redlock } from "@holdfast/core";
import { ioredisNode } from "@holdfast/ioredis";
import { memoryNode } from "@holdfast/memory";
import { nodeRedisNode } from "@holdfast/node-redis";
import type { Client, Connect, Settings } from "./contender.ts";

export const overIoredis: Connect = async (ports, settings) => {
  const clients = await connectIoredis(ports);
  return holdfastClient(
    clients.map((client) => ioredisNode(client)),
    settings,
    () => disconnect(clients),
  );
};

export const overNodeRedis: Connect = async (ports, settings) => {
  const clients = await connectNodeRedis(ports);
  return holdfastClient(
    clients.map((client) => nodeRedisNode(client)),
    settings,
    () => disconnect(clients),
  );
};

/** As many nodes in this process as there would be servers. */
export const overMemory: Connect = async (ports, settings) =>
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
