import { ioredisNode } from "@holdfast/ioredis";
import { Redis } from "ioredis";
import type { ChaosAdapter } from "../adapter.ts";

const reconnectMs = 50;

/** Lock nodes over ioredis. */
export const connect: ChaosAdapter["connect"] = async (urls, { restartGuardMs }) => {
  const clients = urls.map((url) => new Redis(url, { lazyConnect: true, retryStrategy: () => reconnectMs }));
  for (const client of clients) client.on("error", () => {}); // a lost connection: it comes back by itself
  await Promise.all(clients.map((client) => client.connect()));
  const nodes = clients.map((client, index) => ioredisNode(client, { name: `n${index + 1}`, restartGuardMs }));
  return {
    nodes,
    close() {
      for (const client of clients) client.disconnect();
    },
  };
};
