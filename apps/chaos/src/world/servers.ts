import { type RedisServer, type RedisServerOptions, startRedisServer } from "@holdfast/testkit";
import type { Cleanup } from "@holdfast/testkit/cleanup";
import { connectStore } from "../client/store.ts";
import type { Sets } from "../history/visit.ts";

/** Starts a server, which the cleanup stops. */
export async function startServer(cleanup: Cleanup, options: RedisServerOptions = {}): Promise<RedisServer> {
  const server = await startRedisServer(options);
  cleanup.defer(() => server.stop());
  return server;
}

/** Starts that many servers. */
export function startServers(count: number, cleanup: Cleanup): Promise<RedisServer[]> {
  return Promise.all(Array.from({ length: count }, () => startServer(cleanup)));
}

/** The server of the sets, which is not attacked. */
export interface StoreServer {
  readonly storeUrl: string;
  /** Returns what the sets of this name hold. */
  look(name: number | string): Promise<Sets>;
}

/** Starts the server of the sets. */
export async function startStore(cleanup: Cleanup): Promise<StoreServer> {
  const server = await startServer(cleanup);
  const { look, close } = await connectStore(server.url);
  cleanup.defer(close);
  return { storeUrl: server.url, look };
}
