import { setTimeout as sleep } from "node:timers/promises";
import { createClient } from "@redis/client";
import { Redis } from "ioredis";

/** A URL, or a port of 127.0.0.1. */
export type Address = string | number;

/** The client libraries. */
export type ClientLibrary = "ioredis" | "node-redis";

/** A client of node-redis. */
export type NodeRedisClient = ReturnType<typeof createClient>;

/** How clients connect. */
export interface ClientOptions {
  /** The delay between attempts to reconnect, in milliseconds. Default: that of the library. */
  readonly reconnectMs?: number | undefined;
  /**
   * How long to wait for servers that may be down, in milliseconds. Clients that are not connected by then go on trying.
   * Default: until all are connected, or one fails.
   */
  readonly patienceMs?: number | undefined;
}

/**
 * Connects an ioredis client to each server and resolves when all are ready, or patience ends. Clients reconnect without
 * an error.
 */
export async function connectIoredis(
  addresses: readonly Address[],
  { reconnectMs, patienceMs }: ClientOptions = {},
): Promise<Redis[]> {
  const options = reconnectMs === undefined ? {} : { retryStrategy: () => reconnectMs };
  const clients = addresses.map((address) => new Redis(urlOf(address), { lazyConnect: true, ...options }));
  for (const client of clients) client.on("error", () => {});
  await connecting(clients, patienceMs);
  return clients;
}

/**
 * Connects a node-redis client to each server and resolves when all are ready, or patience ends. Clients reconnect without
 * an error.
 */
export async function connectNodeRedis(
  addresses: readonly Address[],
  { reconnectMs, patienceMs }: ClientOptions = {},
): Promise<NodeRedisClient[]> {
  const options = reconnectMs === undefined ? {} : { socket: { reconnectStrategy: () => reconnectMs } };
  const clients: NodeRedisClient[] = addresses.map((address) => createClient({ url: urlOf(address), ...options }));
  for (const client of clients) client.on("error", () => {});
  await connecting(clients, patienceMs);
  return clients;
}

/** Makes clients connect, which go on trying after a failure. */
async function connecting(clients: readonly (Redis | NodeRedisClient)[], patienceMs?: number): Promise<void> {
  const connections = clients.map((client) => client.connect());
  if (patienceMs === undefined) await Promise.all(connections);
  else await Promise.race([Promise.allSettled(connections), sleep(patienceMs, undefined, { ref: false })]);
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
