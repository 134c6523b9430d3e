import { globExpression } from "../list/glob.ts";
import { longMs } from "../output/format.ts";
import { within } from "../within.ts";
import type { SearchOptions, ServerSearch } from "./server.ts";

/** Searches a server whose node lists the held resources. See `Server.search`. */
export async function searchList(
  list: AsyncIterable<string>,
  { pattern, limit, searchTimeoutMs }: SearchOptions,
): Promise<ServerSearch> {
  const expression = globExpression(pattern);
  const resources = new Set<string>();
  const read = async (): Promise<void> => {
    const deadlineMs = performance.now() + searchTimeoutMs;
    for await (const resource of list) {
      if (performance.now() > deadlineMs) return;
      if (expression.test(resource)) resources.add(resource);
      // One more than the limit shows that there are more.
      if (resources.size > limit) return;
    }
  };
  try {
    await within(searchTimeoutMs, read(), `the search took longer than ${longMs(searchTimeoutMs)}`);
    return { resources, notUtf8: new Set(), error: null };
  } catch (error) {
    return { resources, notUtf8: new Set(), error: error as Error };
  }
}
