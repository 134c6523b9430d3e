import { randomUUID } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import type { LockNode } from "@holdfast/core";
import { longMs } from "./world/client.ts";

/** What one process contends for, and when it stops. */
export interface Contest {
  readonly resources: readonly string[];
  /** So many grants are enough. */
  readonly grants: number;
  readonly timeoutMs: number;
}

/** What one process got. */
export interface Winnings {
  /** The fence of each grant, in order. */
  readonly fences: readonly number[];
  /** How many claims were gone when they were to be released. */
  readonly lost: number;
}

/** How long a contest lasts at the least, in milliseconds: the steps of a fast store seldom meet. */
const contestMs = 1_000;

/**
 * Claims and releases again and again, as fast as the node answers, while another process does the same.
 *
 * @param isOver says when to stop, instead of the number of grants
 */
export async function contend(
  node: LockNode,
  { resources, grants, timeoutMs }: Contest,
  isOver?: () => boolean,
): Promise<Winnings> {
  const fences: number[] = [];
  let lost = 0;
  const startMs = performance.now();
  const hasEnough = (): boolean => {
    const elapsedMs = performance.now() - startMs;
    return elapsedMs >= contestMs && (fences.length >= grants || elapsedMs >= timeoutMs);
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
