/** A client without a library: the minimum that locking costs. */

import { randomUUID } from "node:crypto";
import { connectIoredis, disconnect } from "@holdfast/app-kit/clients";
import { type Client, type Connect, ttlMs } from "./contender.ts";
import { atQuorum } from "./vote.ts";

/** Deletes a key that holds this value: the release that the Redis documentation shows. */
export const compareAndDelete =
  'if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) else return 0 end';

/** One server. */
export interface RawServer {
  /** `SET key value PX ttl NX`; resolves with `null` if the key exists. */
  set(key: string, value: string): Promise<unknown>;
  /** Runs {@link compareAndDelete}. */
  delete(key: string, value: string): Promise<unknown>;
}

export const overIoredis: Connect = async (ports) => {
  const clients = await connectIoredis(ports);
  const [sha] = await Promise.all(clients.map((client) => client.script("LOAD", compareAndDelete)));
  const servers = clients.map((client) => ({
    set: (key: string, value: string) => client.set(key, value, "PX", ttlMs, "NX"),
    delete: (key: string, value: string) => client.evalsha(String(sha), 1, key, value),
  }));
  return rawClient(servers, () => disconnect(clients));
};

/** Sets a key on all servers, and later deletes it. Either call settles at the reply of a quorum. */
export function rawClient(servers: readonly RawServer[], close: () => void): Client {
  return {
    async acquire(key) {
      const value = randomUUID();
      await atQuorum(servers, (server) => server.set(key, value));
      return () => atQuorum(servers, (server) => server.delete(key, value));
    },
    close,
  };
}
