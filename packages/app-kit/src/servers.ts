import { type RedisServer, type RedisServerOptions, startRedisServer } from "@holdfast/testkit";
import type { Cleanup } from "@holdfast/testkit/cleanup";

/** Starts a `redis-server`, which the cleanup stops. */
export async function startServer(cleanup: Cleanup, options: RedisServerOptions = {}): Promise<RedisServer> {
  const server = await startRedisServer(options);
  cleanup.defer(server.stop);
  return server;
}
