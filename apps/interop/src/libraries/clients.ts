import { once } from "node:events";
import { Redis } from "ioredis";

/** One ioredis client for each server, all of them ready. */
export async function ioredisClients(ports: readonly number[]): Promise<Redis[]> {
  const clients = ports.map((port) => new Redis({ host: "127.0.0.1", port }));
  await Promise.all(clients.map((client) => once(client, "ready")));
  return clients;
}

/** Closes all of them. */
export function disconnect(clients: readonly Redis[]): void {
  for (const client of clients) client.disconnect();
}

/** Answers `instead` when the promise rejects with an error of this class; other rejections stay. */
export async function unless<T, U>(
  promise: PromiseLike<T>,
  // biome-ignore lint/suspicious/noExplicitAny: a class with any constructor
  condition: abstract new (...args: any[]) => Error,
  instead: U,
): Promise<T | U> {
  try {
    return await promise;
  } catch (error) {
    if (error instanceof condition) return instead;
    throw error;
  }
}
