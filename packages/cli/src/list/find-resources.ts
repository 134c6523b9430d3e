/** Finds the locked resources on all servers. */
import type { SearchOptions, Server, ServerSearch } from "../servers/server.ts";

/** The combined result of all servers. */
export interface SearchResult {
  /** The resources that are locked on at least one server, sorted, up to the limit. */
  readonly resources: readonly string[];
  /** Whether there are more resources than the limit. */
  readonly isCut: boolean;
  /** The number of names that are not UTF-8. No Holdfast client can create or name such a lock. */
  readonly notUtf8: number;
  /** The search of each server, in the given order. */
  readonly searches: readonly NamedSearch[];
}

/** The search of one server. */
export interface NamedSearch extends ServerSearch {
  readonly node: string;
}

/** Searches all servers concurrently. Always ends, whatever the servers do. */
export async function findResources(servers: readonly Server[], options: SearchOptions): Promise<SearchResult> {
  const searches = await Promise.all(
    servers.map(async (server) => ({ node: server.name, ...(await server.search(options)) })),
  );
  const all = [...new Set(searches.flatMap(({ resources }) => [...resources]))].sort();
  const notUtf8 = new Set(searches.flatMap((search) => [...search.notUtf8])).size;
  return { resources: all.slice(0, options.limit), isCut: all.length > options.limit, notUtf8, searches };
}
