import { ioredisNode } from "@holdfast/ioredis";
import type { Cleanup } from "@holdfast/testkit/cleanup";
import { Redis } from "ioredis";
import { type ClientKit, reconnectMs } from "./client-kit.ts";

/** Lock nodes and database connections by ioredis. */
export function ioredisKit(cleanup: Cleanup): ClientKit {
  const connect = async (url: string): Promise<Redis> => {
    const client = new Redis(url, { lazyConnect: true, retryStrategy: () => reconnectMs });
    client.on("error", () => {}); // a lost connection: it comes back by itself
    cleanup.defer(() => client.disconnect());
    await client.connect();
    return client;
  };
  return {
    async connectNode(name, url) {
      const node = ioredisNode(await connect(url), { name });
      cleanup.defer(() => node.close());
      return node;
    },
    async connectDatabase(url) {
      const client = await connect(url);
      return ([command = "", ...args]) => client.call(command, ...args);
    },
  };
}
