/** Finds the locked resources by the names of the keys on a server. */
import { isUtf8 } from "node:buffer";
import type { Redis } from "ioredis";
import { longMs } from "../../output/format.ts";
import { within } from "../../within.ts";
import type { SearchOptions, Server, ServerSearch } from "../server.ts";

/** The number of keys that a server checks per request, which takes well below a millisecond. */
const batchSize = 1_000;

/** Matches fence counters, which are strings like locks, and other keys whose names no lock may have. */
const reservedKey = /^holdfast:(fence|sharers):/;

/** Searches with a sequence of `SCAN`s between which the server serves other clients. */
export async function searchRedis(
  client: Redis,
  prefix: string,
  connectionError: Server["connectionError"],
  { pattern, limit, searchTimeoutMs, nodeTimeoutMs }: SearchOptions,
): Promise<ServerSearch> {
  const deadlineMs = performance.now() + searchTimeoutMs;
  const match = escapeGlob(prefix) + pattern;
  const resources = new Set<string>();
  const notUtf8 = new Set<string>();
  let cursor = "0";
  try {
    if (client.status !== "ready") throw connectionError() ?? new Error("not connected");
    do {
      if (performance.now() > deadlineMs) throw new Error(`the search took longer than ${longMs(searchTimeoutMs)}`);
      // As bytes, because decoding would lose those that are not UTF-8.
      const request = client.scanBuffer(cursor, "MATCH", match, "COUNT", batchSize, "TYPE", "string");
      const [next, keys] = await within(nodeTimeoutMs, request);
      for (const bytes of keys) {
        const key = bytes.toString();
        if (!isLockKey(key, prefix)) continue;
        if (isUtf8(bytes)) resources.add(key.slice(prefix.length));
        else notUtf8.add(bytes.toString("latin1"));
      }
      cursor = next.toString();
      // One more than the limit shows that there are more.
    } while (cursor !== "0" && resources.size <= limit);
    return { resources, notUtf8, error: null };
  } catch (error) {
    return { resources, notUtf8, error: error as Error };
  }
}

function isLockKey(key: string, prefix: string): boolean {
  return key.length > prefix.length && key.startsWith(prefix) && !reservedKey.test(key);
}

/** Returns a glob that matches exactly this text. */
function escapeGlob(text: string): string {
  return text.replaceAll(/[\\*?[\]]/g, "\\$&");
}
