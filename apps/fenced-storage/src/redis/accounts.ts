import { startServer } from "@holdfast/app-kit/servers";
import { ioredisFencedStore } from "@holdfast/ioredis";
import type { Cleanup } from "@holdfast/testkit/cleanup";
import { Redis } from "ioredis";
import type { Accounts } from "../accounts.ts";

/** Starts a real server. */
export async function start(cleanup: Cleanup): Promise<string> {
  return (await startServer(cleanup)).url;
}

/** Opens accounts in Redis. */
export async function open(url: string): Promise<Accounts> {
  const client = new Redis(url);
  client.on("error", () => {}); // the client reconnects, and calls reject on their own
  await client.ping();
  const store = ioredisFencedStore(client);
  return {
    create: (id, balance) => store.write(id, String(balance), 1),
    async read(id, fence) {
      if (fence === undefined) return Number(await client.hget(id, "value"));
      const { value } = await store.read(id, fence);
      return Number(value);
    },
    async write(id, balance, fence) {
      if (fence === undefined) await client.hset(id, "value", balance);
      else await store.write(id, String(balance), fence);
    },
    async close() {
      client.disconnect();
    },
  };
}
