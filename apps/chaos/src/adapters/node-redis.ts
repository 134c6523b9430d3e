import { nodeRedisNode } from "@holdfast/node-redis";
import { createClient } from "@redis/client";
import type { ChaosAdapter } from "../adapter.ts";

const reconnectMs = 50;

/** Lock nodes over node-redis. */
export const connect: ChaosAdapter["connect"] = async (urls, { restartGuardMs }) => {
  const clients = urls.map((url) => createClient({ url, socket: { reconnectStrategy: () => reconnectMs } }));
  for (const client of clients) client.on("error", () => {}); // a lost connection: it comes back by itself
  await Promise.all(clients.map((client) => client.connect()));
  const nodes = clients.map((client, index) => nodeRedisNode(client, { name: `n${index + 1}`, restartGuardMs }));
  return {
    nodes,
    close() {
      for (const client of clients) client.destroy();
    },
  };
};
