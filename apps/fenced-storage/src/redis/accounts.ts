import { ioredisFencedStore } from "@holdfast/ioredis";
import { Redis } from "ioredis";
import type { Accounts } from "../accounts.ts";

/** Opens accounts in Redis. */
export async function openRedisAccounts(url: string): Promise<Accounts> {
  const client = new Redis(url);
  client.on("error", () => {}); // the client reconnects, and calls reject on their own
  await client.ping();
  const store = ioredisFencedStore(client);
  return {
    create: (id, balance) => store.write(id, String(balance), 1),
    unchecked: (id) => ({
      read: async () => Number(await client.hget(id, "value")),
      async write(balance) {
        await client.hset(id, "value", balance);
      },
    }),
    checked: (id, fence) => ({
      read: async () => Number((await store.read(id, fence)).value),
      write: (balance) => store.write(id, String(balance), fence),
    }),
    async close() {
      client.disconnect();
    },
  };
}
