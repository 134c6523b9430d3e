/** Finds out what is locked: the names of the keys on each server. */
import { isUtf8 } from "node:buffer";
import { nodeTimeoutOf, type ServerOptions } from "../options/server-options.ts";
import { longMs } from "../output/format.ts";
import type { Server } from "../servers/servers.ts";
import { within } from "../within.ts";

/** What to look for, and how long. */
export interface SearchOptions extends Pick<ServerOptions, "prefix" | "ttlMs" | "nodeTimeoutMs"> {
  /** A glob that resources match, as `SCAN` takes it. */
  readonly pattern: string;
  /** How many resources to return at most. */
  readonly limit: number;
  /** How long the search may take on each server, in milliseconds. */
  readonly searchTimeoutMs: number;
}

/** What the servers said together. */
export interface SearchResult {
  /** The resources with a key on at least one server, sorted; at most as many as were asked for. */
  readonly resources: readonly string[];
  /** Whether there are more resources than were asked for. */
  readonly isCut: boolean;
  /** How many names are not UTF-8. No client of Holdfast can have made them, and none can name them. */
  readonly notUtf8: number;
  /** How far the search came on each server, in the order in which they were named. */
  readonly searches: readonly ServerSearch[];
}

/** How far the search came on one server. */
export interface ServerSearch {
  readonly node: string;
  readonly resources: ReadonlySet<string>;
  /** The keys that are not UTF-8, each byte as a character. */
  readonly notUtf8: ReadonlySet<string>;
  /** Why the server could not be searched completely, or null. */
  readonly error: Error | null;
}

/** How many keys a server looks at for one request: well below a millisecond of its time. */
const batchSize = 1_000;

/** Fence counters are strings, like locks, and may share the prefix. No lock can be named like one. */
const fenceKeyPrefix = "holdfast:fence:";

/**
 * Searches all servers at the same time, each with one `SCAN` after the other: a server serves others between two of them.
 * Ends by itself, whatever the servers do.
 */
export async function findResources(servers: readonly Server[], options: SearchOptions): Promise<SearchResult> {
  const searches = await Promise.all(servers.map((server) => searchServer(server, options)));
  const all = [...new Set(searches.flatMap(({ resources }) => [...resources]))].sort();
  const notUtf8 = new Set(searches.flatMap((search) => [...search.notUtf8])).size;
  return { resources: all.slice(0, options.limit), isCut: all.length > options.limit, notUtf8, searches };
}

async function searchServer(server: Server, options: SearchOptions): Promise<ServerSearch> {
  const { name: node, client } = server;
  const { prefix, pattern, limit, searchTimeoutMs } = options;
  const deadlineMs = performance.now() + searchTimeoutMs;
  const match = escapeGlob(prefix) + pattern;
  const resources = new Set<string>();
  const notUtf8 = new Set<string>();
  const timeoutMs = await nodeTimeoutOf(options);
  let cursor = "0";
  try {
    if (client.status !== "ready") throw server.connectionError() ?? new Error("not connected");
    do {
      if (performance.now() > deadlineMs) throw new Error(`the search took longer than ${longMs(searchTimeoutMs)}`);
      // As bytes: in a text, those that are not UTF-8 would be lost.
      const request = client.scanBuffer(cursor, "MATCH", match, "COUNT", batchSize, "TYPE", "string");
      const [next, keys] = await within(timeoutMs, request);
      for (const bytes of keys) {
        const key = bytes.toString();
        if (!isLockKey(key, prefix)) continue;
        if (isUtf8(bytes)) resources.add(key.slice(prefix.length));
        else notUtf8.add(bytes.toString("latin1"));
      }
      cursor = next.toString();
      // One more than the limit shows that there are more.
    } while (cursor !== "0" && resources.size <= limit);
    return { node, resources, notUtf8, error: null };
  } catch (error) {
    return { node, resources, notUtf8, error: error as Error };
  }
}

function isLockKey(key: string, prefix: string): boolean {
  return key.length > prefix.length && key.startsWith(prefix) && !key.startsWith(fenceKeyPrefix);
}

/** A glob that matches this text and nothing else. */
function escapeGlob(text: string): string {
  return text.replaceAll(/[\\*?[\]]/g, "\\$&");
}
