import type { LockNode } from "@holdfast/core";
import type { Cleanup } from "@holdfast/testkit/cleanup";
import type { SendCommand } from "../database/redis-database.ts";

/** What a process needs of a client library. */
export interface ClientKit {
  /** A lock node over a client of its own. */
  connectNode(name: string, url: string): Promise<LockNode>;
  /** A connection to the server that plays the database. */
  connectDatabase(url: string): Promise<SendCommand>;
}

/** The libraries that there is an adapter for. */
export type ClientLibrary = "ioredis" | "node-redis";

/** How long to wait between attempts to reach a server that is down, in milliseconds. */
export const reconnectMs = 200;

/** The kit of one library, whose clients are closed by the cleanup. The other library is not even loaded. */
export async function clientKit(library: ClientLibrary, cleanup: Cleanup): Promise<ClientKit> {
  if (library === "ioredis") return (await import("./ioredis-kit.ts")).ioredisKit(cleanup);
  return (await import("./node-redis-kit.ts")).nodeRedisKit(cleanup);
}
