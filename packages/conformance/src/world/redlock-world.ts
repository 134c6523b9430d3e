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
  times: World["times"];
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
  const redlockOf = (side: "node" | "rival"): Redlock =>
    new Redlock(
      nodes.map((world, index) => plainNode(world[side].node, `${world[side].node.name} #${index + 1}`)),
      options,
    );
  return {
    nodes,
    redlock: redlockOf("node"),
    rivalRedlock: redlockOf("rival"),
    times: (count) => (nodes[0] as World).times(count),
  };
}
