/** Finds the locked resources by the names of the keys on each server. */
import { isUtf8 } from "node:buffer";
import { nodeTimeoutOf, type ServerOptions } from "../options/server-options.ts";
import { longMs } from "../output/format.ts";
import type { Server } from "../servers/servers.ts";
import { within } from "../within.ts";

/** The options of a search. */
export interface SearchOptions extends Pick<ServerOptions, "prefix" | "ttlMs" | "nodeTimeoutMs"> {
  /** A glob for resources, in the syntax of `SCAN`. */
  readonly pattern: string;
  /** The most resources to return. */
  readonly limit: number;
  /** The timeout of the search on each server, in milliseconds. */
  readonly searchTimeoutMs: number;
}

/** The combined result of all servers. */
export interface SearchResult {
  /** The resources with a key on at least one server, sorted, up to the limit. */
  readonly resources: readonly string[];
  /** Whether there are more resources than the limit. */
  readonly isCut: boolean;
  /** The number of names that are not UTF-8. No Holdfast client can create or name such a lock. */
  readonly notUtf8: number;
  /** The search of each server, in the given order. */
  readonly searches: readonly ServerSearch[];
}

/** The search of one server. */
export interface ServerSearch {
  readonly node: string;
  readonly resources: ReadonlySet<string>;
  /** The keys that are not UTF-8, with one character per byte. */
  readonly notUtf8: ReadonlySet<string>;
  /** The reason why the search is incomplete, or null. */
  readonly error: Error | null;
}

/** The number of keys that a server checks per request, which takes well below a millisecond. */
const batchSize = 1_000;

/** The prefix of fence counters, which are strings like locks, and may share the prefix. No lock has a name with it. */
const fenceKeyPrefix = "holdfast:fence:";

/**
 * Searches all servers concurrently, each with a sequence of `SCAN`s between which it serves other clients. Always
 * ends, whatever the servers do.
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
      // As bytes, because decoding would lose those that are not UTF-8.
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

/** Returns a glob that matches exactly this text. */
function escapeGlob(text: string): string {
  return text.replaceAll(/[\\*?[\]]/g, "\\$&");
}
