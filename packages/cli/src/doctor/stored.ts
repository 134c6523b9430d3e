import type { LockNode } from "@holdfast/core";
import { within } from "../within.ts";

/** What a server keeps for all its locks together. */
export interface Stored {
  /** Every fence counter below this counts as this; 0 if there is no floor. */
  readonly floor: number;
  /** The server serves clients whose epoch differs from this by 1 at most; 0 if it serves all. */
  readonly epoch: number;
  /** How many fence counters were read; null if they could not be. */
  readonly counters: number | null;
  /** Whether these are all counters of the server. */
  readonly isComplete: boolean;
}

/** Reading the counters ends after this many, or this time in milliseconds. */
const countersMax = 100_000;
const budgetMs = 5_000;

/** Reads what a server keeps; null if its kind keeps no floor, or it does not reply. */
export async function readStored(node: LockNode, answerTimeoutMs: number): Promise<Stored | null> {
  if (node.raiseFloor === undefined) return null;
  try {
    const reading = node.raiseFloor({ floor: 0, epoch: 0, timeoutMs: answerTimeoutMs });
    const { floor, epoch } = await within(answerTimeoutMs, reading);
    return { floor, epoch, ...(await countCounters(node, answerTimeoutMs)) };
  } catch {
    return null;
  }
}

async function countCounters(node: LockNode, timeoutMs: number): Promise<Pick<Stored, "counters" | "isComplete">> {
  const endMs = performance.now() + budgetMs;
  let counters = 0;
  let cursor: string | undefined;
  try {
    do {
      const request = { ...(cursor !== undefined && { cursor }), timeoutMs };
      const portion = await within(timeoutMs, node.scan?.(request) ?? Promise.reject(new Error("has no scan()")));
      counters += portion.counters;
      cursor = portion.cursor;
    } while (cursor !== undefined && counters < countersMax && performance.now() < endMs);
    return { counters, isComplete: cursor === undefined };
  } catch {
    return { counters: null, isComplete: false };
  }
}
