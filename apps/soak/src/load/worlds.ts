import { type ConnectedNodes, connectNodes } from "@holdfast/app-kit/nodes";
import { memoryNode } from "@holdfast/memory";
import { startRedisServer } from "@holdfast/testkit";

/** Lock nodes of one kind. Closing them leaves nothing behind. */
export interface World extends ConnectedNodes {
  readonly name: string;
}

/** Opens memory nodes, and nodes over real servers with either client. */
export async function openWorlds(): Promise<World[]> {
  const memoryNodes = Array.from({ length: 5 }, () => memoryNode());
  return [
    { name: "5 memory nodes", nodes: memoryNodes, close: async () => {} },
    await openServers("ioredis"),
    await openServers("node-redis"),
  ];
}

async function openServers(library: "ioredis" | "node-redis"): Promise<World> {
  const servers = await Promise.all([1, 2, 3].map(() => startRedisServer()));
  const { nodes, close } = await connectNodes(
    library,
    servers.map(({ port }) => port),
  );
  return {
    name: `3 servers by ${library}`,
    nodes,
    async close() {
      await close();
      await Promise.all(servers.map((server) => server.stop()));
    },
  };
}
