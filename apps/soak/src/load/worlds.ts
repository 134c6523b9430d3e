import type { LockNode } from "@holdfast/core";
import { ioredisNode } from "@holdfast/ioredis";
import { memoryNode } from "@holdfast/memory";
import { nodeRedisNode } from "@holdfast/node-redis";
import { type RedisServer, startRedisServer } from "@holdfast/testkit";
import { createClient } from "@redis/client";
import { Redis } from "ioredis";

/** Lock nodes of one kind, and how to leave nothing of them behind. */
export interface World {
  readonly name: string;
  readonly nodes: readonly LockNode[];
  close(): Promise<void>;
}

/** Memory nodes, and real servers by either client. */
export async function openWorlds(): Promise<World[]> {
  return [memoryWorld(), await ioredisWorld(await startServers()), await nodeRedisWorld(await startServers())];
}

function startServers(): Promise<RedisServer[]> {
  return Promise.all([startRedisServer(), startRedisServer(), startRedisServer()]);
}

function memoryWorld(): World {
  const nodes = Array.from({ length: 5 }, () => memoryNode());
  return { name: "5 memory nodes", nodes, close: async () => {} };
}

async function ioredisWorld(servers: readonly RedisServer[]): Promise<World> {
  const clients = servers.map(({ port }) => new Redis({ host: "127.0.0.1", port }));
  await Promise.all(clients.map((client) => client.ping()));
  const nodes = clients.map((client) => ioredisNode(client));
  return {
    name: "3 servers by ioredis",
    nodes,
    async close() {
      await Promise.all(nodes.map((node) => node.close()));
      for (const client of clients) client.disconnect();
      await Promise.all(servers.map((server) => server.stop()));
    },
  };
}

async function nodeRedisWorld(servers: readonly RedisServer[]): Promise<World> {
  const clients = servers.map(({ url }) => createClient({ url }));
  await Promise.all(clients.map((client) => client.connect()));
  const nodes = clients.map((client) => nodeRedisNode(client));
  return {
    name: "3 servers by @redis/client",
    nodes,
    async close() {
      await Promise.all(nodes.map((node) => node.close()));
      for (const client of clients) client.destroy();
      await Promise.all(servers.map((server) => server.stop()));
    },
  };
}
