import type { Cleanup } from "@holdfast/testkit/cleanup";
import type { ClientKit } from "./client-kit.ts";

/** The client libraries that the demo can use. */
export type ClientLibrary = "ioredis" | "node-redis";

/** Loads the kit of one library, and not the other one. The cleanup closes its clients. */
export async function clientKit(library: ClientLibrary, cleanup: Cleanup): Promise<ClientKit> {
  if (library === "ioredis") return (await import("./ioredis-kit.ts")).ioredisKit(cleanup);
  return (await import("./node-redis-kit.ts")).nodeRedisKit(cleanup);
}
