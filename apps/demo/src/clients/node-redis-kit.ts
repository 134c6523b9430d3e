import { nodeRedisNode } from "@holdfast/node-redis";
import type { Cleanup } from "@holdfast/testkit/cleanup";
import { createClient } from "@redis/client";
import { type ClientKit, reconnectMs } from "./client-kit.ts";

/** Lock nodes and database connections by node-redis. */
export function nodeRedisKit(cleanup: Cleanup): ClientKit {
  const connect = async (url: string) => {
    const client = createClient({ url, socket: { reconnectStrategy: () => reconnectMs } });
    client.on("error", () => {}); // a lost connection: it comes back by itself
    await client.connect();
    cleanup.defer(() => client.destroy());
    return client;
  };
  return {
    async connectNode(name, url) {
      const node = nodeRedisNode(await connect(url), { name });
      cleanup.defer(() => node.close());
      return node;
    },
    async connectDatabase(url) {
      const client = await connect(url);
      return (args) => client.sendCommand(args);
    },
  };
}
