/** Holdfast over Redis and in memory, with its defaults. */

import { connectIoredis, connectNodeRedis, disconnect } from "@holdfast/app-kit/clients";
import { ioredisNode } from "@holdfast/ioredis";
import { memoryNode } from "@holdfast/memory";
import { nodeRedisNode } from "@holdfast/node-redis";
import type { Connect } from "./contender.ts";
import { holdfastClient } from "./holdfast-client.ts";

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
