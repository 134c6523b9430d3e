import { Redlock } from "@holdfast/core";
import type { RedisNode } from "@holdfast/redis";

/**
 * Makes each call once and closes the client. The process must then end on its own, whether `leaving` is "close", which
 * closes the node, or "unwatch", which only ends the watch.
 */
export async function lockAndLeave(
  node: RedisNode,
  leaving: string | undefined,
  closeClient: () => unknown,
): Promise<void> {
  const redlock = new Redlock([node], { ttlMs: 600_000, nodeTimeoutMs: 60_000 });
  const unwatch = await node.watch?.(["r"], () => {});
  const lock = await redlock.acquire("r");
  await lock.extend();
  await redlock.inspect("r");
  await lock.release();
  if (leaving === "unwatch") await unwatch?.();
  else await node.close();
  await closeClient();
  console.log("done");
}
