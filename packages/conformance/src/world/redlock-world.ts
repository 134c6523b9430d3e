import { Redlock, type RedlockOptions } from "@holdfast/core";
import { longMs } from "./durations.ts";
import { plainNode } from "./renamed-node.ts";
import type { World } from "./world.ts";

/** The world of one test of whole Redlocks: five fresh servers, and two Redlocks that share only these. */
export interface RedlockWorld {
  readonly nodes: readonly World[];
  /** Over the first clients of the servers. */
  readonly redlock: Redlock;
  /** Over the second clients. */
  readonly rivalRedlock: Redlock;
  /** Returns a further `Redlock` over the first clients, for locks with this ttl. Its calls take as long at most. */
  briefRedlock(ttlMs: number): Redlock;
  times: World["times"];
  eventually: World["eventually"];
}

/** Creates the world of one test of whole Redlocks. */
export function redlockWorldOf(nodes: readonly World[], timeoutMs: number): RedlockWorld {
  const options: RedlockOptions = {
    ttlMs: longMs,
    // An unreachable server makes calls reject at once, so only a slow machine could cause a timeout.
    nodeTimeoutMs: Math.min(timeoutMs, longMs / 2),
    waitTimeoutMs: 2 * timeoutMs,
    retryDelayMs: 2,
    retryDelayMaxMs: 20,
  };
  // The nodes of a Redlock must have different names, but fresh subjects may share one.
  const redlockOf = (side: "node" | "rival", own: RedlockOptions = {}): Redlock =>
    new Redlock(
      nodes.map((world, index) => plainNode(world[side].node, `${world[side].node.name} #${index + 1}`)),
      { ...options, ...own },
    );
  return {
    nodes,
    redlock: redlockOf("node"),
    rivalRedlock: redlockOf("rival"),
    // The node timeout must be below the ttl.
    briefRedlock: (ttlMs) => redlockOf("node", { ttlMs, nodeTimeoutMs: ttlMs - 10, waitTimeoutMs: ttlMs }),
    times: (count) => (nodes[0] as World).times(count),
    eventually: (what, condition) => (nodes[0] as World).eventually(what, condition),
  };
}
