import { randomUUID } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import type { LockNode } from "@holdfast/core";
import { longMs } from "./world/durations.ts";

/** A contest between processes: the resources, and when to stop. */
export interface Contest {
  readonly resources: readonly string[];
  /** The number of grants after which the contest may end. */
  readonly grants: number;
  /** The shortest contest, in milliseconds: the steps of a fast store rarely overlap. */
  readonly leastMs: number;
  readonly timeoutMs: number;
}

/** The grants of one process in a contest. */
export interface Winnings {
  /** The fence of each grant, in order. */
  readonly fences: readonly number[];
  /** How many claims had disappeared before their release. */
  readonly lost: number;
}

/**
 * Claims and releases as fast as the node replies, while another process does the same.
 *
 * @param isOver decides when to stop, in place of the number of grants
 */
export async function contend(
  node: LockNode,
  { resources, grants, leastMs, timeoutMs }: Contest,
  isOver?: () => boolean,
): Promise<Winnings> {
  const fences: number[] = [];
  let lost = 0;
  const startMs = performance.now();
  const hasEnough = (): boolean => {
    const elapsedMs = performance.now() - startMs;
    return elapsedMs >= leastMs && (fences.length >= grants || elapsedMs >= timeoutMs);
  };
  while (!(isOver ?? hasEnough)()) {
    const owner = randomUUID();
    const reply = await node.acquire({ resources, owner, timeoutMs, ttlMs: longMs, fenceHint: 1 });
    if (reply.granted) {
      fences.push(reply.fence);
      if (!(await node.release({ resources, owner, timeoutMs })).released) lost++;
    }
    await setImmediate();
  }
  return { fences, lost };
}
