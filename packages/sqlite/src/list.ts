import { setImmediate } from "node:timers/promises";
import { type LockFile, pageSize } from "./lock-file.ts";

/** Lists the held resources, page by page. The event loop and other processes get a turn in between. */
export async function* list(file: LockFile): AsyncGenerator<string> {
  for (let last: string | undefined = ""; last !== undefined; await setImmediate()) {
    const names: readonly string[] = file.heldAfter(last);
    yield* names.map((name): string => JSON.parse(name));
    last = names.length < pageSize ? undefined : names.at(-1);
  }
}
