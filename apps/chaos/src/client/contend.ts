import { setTimeout as sleep } from "node:timers/promises";
import { Redlock } from "@holdfast/core";
import { monotonicMs } from "@holdfast/testkit/monotonic";
import type { Connected } from "../adapter.ts";
import type { ClientOrder, Contention, FromClient } from "./messages.ts";
import type { Store } from "./store.ts";
import { visit } from "./visit.ts";

interface Job extends ClientOrder, Contention {
  readonly nodes: Connected["nodes"];
  readonly store: Store;
}

let visits = 0;

/** Visits the sets under the one lock that all clients want, again and again, until the signal aborts. */
export async function contend(job: Job, tell: (message: FromClient) => void, stop: AbortSignal): Promise<void> {
  const { client, ttlMs, nodeTimeoutMs, nodes, store, dwellMs } = job;
  let attemptAtMs = 0;
  const redlock = new Redlock(nodes, {
    ttlMs,
    nodeTimeoutMs,
    waitTimeoutMs: ttlMs,
    // Longer than the node timeout. Otherwise rivals that split the vote of a bare majority keep doing so.
    retryDelayMaxMs: 1.5 * nodeTimeoutMs,
    observer: {
      attemptSettled({ elapsedMs }) {
        attemptAtMs = monotonicMs() - elapsedMs;
      },
    },
  });
  const [shortestMs, longestMs] = dwellMs;
  while (!stop.aborted) {
    const lock = await redlock.acquire("chaos", { label: client, signal: stop }).catch((error) => {
      if (!stop.aborted) tell({ kind: "failed", call: { client, atMs: monotonicMs(), code: codeOf(error) } });
    });
    if (lock) {
      visits += 1;
      const drawnMs = shortestMs + Math.random() * (longestMs - shortestMs);
      const errand = {
        client,
        element: `${client}.${visits}`,
        dwellMs: drawnMs,
        extend: visits % 4 === 0,
        attemptAtMs,
      };
      tell({ kind: "visited", visit: await visit(lock, { ...errand, store, tell }) });
    }
    await sleep(Math.random() * 10);
  }
}

function codeOf(error: unknown): string {
  return (error as { code?: string }).code ?? String(error);
}
