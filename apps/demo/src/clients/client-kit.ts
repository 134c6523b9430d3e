import type { LockNode } from "@holdfast/core";
import type { SendCommand } from "../database/redis-database.ts";

/** What a process needs of a client library. */
export interface ClientKit {
  /** A lock node over a client of its own. */
  connectNode(name: string, url: string): Promise<LockNode>;
  /** A connection to the server that plays the database. */
  connectDatabase(url: string): Promise<SendCommand>;
}

/** How long to wait between attempts to reach a server that is down, in milliseconds. */
export const reconnectMs = 200;
