import { createClient } from "@redis/client";
import { Redis } from "ioredis";

/** A URL, or a port of 127.0.0.1. */
export type Address = string | number;

/** The client libraries. */
export type ClientLibrary = "ioredis" | "node-redis";

/** A client of node-redis. */
export type NodeRedisClient = ReturnType<typeof createClient>;

/** The delay between attempts to reconnect; the library's own default where it is undefined. */
export interface ClientOptions {
  readonly reconnectMs?: number | undefined;
}

/** Connects an ioredis client to each server, and resolves when all are ready. Clients reconnect without an error. */
export async function connectIoredis(
  addresses: readonly Address[],
  { reconnectMs }: ClientOptions = {},
): Promise<Redis[]> {
  const options = reconnectMs === undefined ? {} : { retryStrategy: () => reconnectMs };
  const clients = addresses.map((address) => new Redis(urlOf(address), { lazyConnect: true, ...options }));
  for (const client of clients) client.on("error", () => {});
  await Promise.all(clients.map((client) => client.connect()));
  return clients;
}

/** Connects a node-redis client to each server, and resolves when all are ready. Clients reconnect without an error. */
export async function connectNodeRedis(
  addresses: readonly Address[],
  { reconnectMs }: ClientOptions = {},
): Promise<NodeRedisClient[]> {
  const options = reconnectMs === undefined ? {} : { socket: { reconnectStrategy: () => reconnectMs } };
  const clients: NodeRedisClient[] = addresses.map((address) => createClient({ url: urlOf(address), ...options }));
  for (const client of clients) client.on("error", () => {});
  await Promise.all(clients.map((client) => client.connect()));
  return clients;
}

/** Closes clients of either library. */
export function disconnect(clients: readonly (Redis | NodeRedisClient)[]): void {
  for (const client of clients) {
    if (client instanceof Redis) client.disconnect();
    else client.destroy();
  }
}

function urlOf(address: Address): string {
  return typeof address === "number" ? `redis://127.0.0.1:${address}` : address;
}
