import { type LockNode, Redlock, type RedlockOptions } from "@holdfast/core";
import { longMs } from "./client.ts";
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
export function redlockWorldOf(nodes: readonly World[], patienceMs: number): RedlockWorld {
  const options: RedlockOptions = {
    ttlMs: longMs,
    // No server is down here, so a timeout could only tell of a slow machine.
    nodeTimeoutMs: Math.min(patienceMs, longMs / 2),
    waitTimeoutMs: 2 * patienceMs,
    retryDelayMs: 2,
    retryDelayMaxMs: 20,
  };
  return {
    nodes,
    redlock: new Redlock(
      nodes.map(({ node }, index) => named(node.node, index)),
      options,
    ),
    rivalRedlock: new Redlock(
      nodes.map(({ rival }, index) => named(rival.node, index)),
      options,
    ),
    eventually: (what, condition) => (nodes[0] as World).eventually(what, condition),
  };
}

/** A Redlock wants its nodes to have different names, which fresh subjects need not have. */
function named(node: LockNode, index: number): LockNode {
  const { watch, inspect } = node;
  return {
    name: `${node.name} #${index + 1}`,
    acquire: (request) => node.acquire(request),
    extend: (request) => node.extend(request),
    release: (request) => node.release(request),
    ...(watch && { watch: watch.bind(node) }),
    ...(inspect && { inspect: inspect.bind(node) }),
  };
}
