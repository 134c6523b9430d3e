import { Redlock, type RedlockOptions } from "@holdfast/core";
import { longMs } from "./client.ts";
import { plainNode } from "./renamed-node.ts";
import type { World } from "./world.ts";

/** What a test of whole Redlocks works with: five fresh servers, and two Redlocks that share nothing but those. */
export interface RedlockWorld {
  readonly nodes: readonly World[];
  /** Over the first clients of the servers. */
  readonly redlock: Redlock;
  /** Over the second clients. */
  readonly rivalRedlock: Redlock;
  eventually: World["eventually"];
}

/** Makes the world of one test of whole Redlocks. */
export function redlockWorldOf(nodes: readonly World[], timeoutMs: number): RedlockWorld {
  const options: RedlockOptions = {
    ttlMs: longMs,
    // A server that is gone says so, and does not hang: a timeout could only tell of a slow machine.
    nodeTimeoutMs: Math.min(timeoutMs, longMs / 2),
    waitTimeoutMs: 2 * timeoutMs,
    retryDelayMs: 2,
    retryDelayMaxMs: 20,
  };
  // A Redlock wants its nodes to have different names, which fresh subjects need not have.
  const redlockOf = (side: "node" | "rival"): Redlock =>
    new Redlock(
      nodes.map((world, index) => plainNode(world[side].node, `${world[side].node.name} #${index + 1}`)),
      options,
    );
  return {
    nodes,
    redlock: redlockOf("node"),
    rivalRedlock: redlockOf("rival"),
    eventually: (what, condition) => (nodes[0] as World).eventually(what, condition),
  };
}
