import { randomUUID } from "node:crypto";
import type { Client } from "./contender.ts";
import { Vote } from "./vote.ts";

/** Deletes a key that holds this value: the release that the documentation of Redis shows. */
export const compareAndDelete =
  'if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) else return 0 end';

/** What is asked of one server, by whatever means. */
export interface RawServer {
  /** `SET key value PX ttl NX`; resolves with null when the key is there. */
  set(key: string, value: string, ttlMs: number): Promise<unknown>;
  /** {@link compareAndDelete}, which the server knows. */
  delete(key: string, value: string): Promise<unknown>;
}

/** The least that locking takes: a SET on all servers, and later a delete, each over when a quorum has answered. */
export function rawClient(servers: readonly RawServer[], close: () => void): Client {
  const quorum = Math.floor(servers.length / 2) + 1;
  return {
    async acquire([key = ""], ttlMs) {
      const value = randomUUID();
      await atQuorum(servers, quorum, (server) => server.set(key, value, ttlMs));
      return () => atQuorum(servers, quorum, (server) => server.delete(key, value));
    },
    close,
  };
}

function atQuorum(
  servers: readonly RawServer[],
  quorum: number,
  ask: (server: RawServer) => Promise<unknown>,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const vote = new Vote(servers.length, quorum, resolve, reject);
    const hear = (reply: unknown): void => vote.hear(reply !== null);
    const refuse = (): void => vote.hear(false);
    for (const server of servers) ask(server).then(hear, refuse);
  });
}
