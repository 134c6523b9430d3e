import { setTimeout as sleep } from "node:timers/promises";
import { Redlock } from "@holdfast/core";
import { monotonicMs } from "@holdfast/testkit/monotonic";
import type { Connected } from "../adapter.ts";
import type { ClientOrder, Contention, FromClient } from "./messages.ts";
import type { Store } from "./store.ts";
import { visit } from "./visit.ts";

/** Makes a client that contends for the one lock that all want. */
export function contender({ client, ttlMs, nodeTimeoutMs }: ClientOrder, tell: (message: FromClient) => void) {
  let visits = 0;

  /** Visits one time after another until the signal aborts. */
  return async (nodes: Connected["nodes"], store: Store, contention: Contention, stop: AbortSignal): Promise<void> => {
    let attemptAtMs = 0;
    const redlock = new Redlock(nodes, {
      ttlMs,
      nodeTimeoutMs,
      waitTimeoutMs: ttlMs,
      // Longer than the node timeout, or rivals that split the vote of a bare majority would go on doing so.
      retryDelayMaxMs: 1.5 * nodeTimeoutMs,
      observer: {
        attemptSettled({ elapsedMs }) {
          attemptAtMs = monotonicMs() - elapsedMs;
        },
      },
    });
    const [shortestMs, longestMs] = contention.dwellMs;
    while (!stop.aborted) {
      const lock = await redlock.acquire("chaos", { label: client, signal: stop }).catch((error) => {
        if (!stop.aborted) tell({ kind: "failed", call: { client, atMs: monotonicMs(), code: codeOf(error) } });
      });
      if (lock) {
        visits += 1;
        const dwellMs = shortestMs + Math.random() * (longestMs - shortestMs);
        const errand = { client, element: `${client}.${visits}`, dwellMs, extend: visits % 4 === 0, attemptAtMs };
        tell({ kind: "visited", visit: await visit(lock, { ...errand, store, tell }) });
      }
      await sleep(Math.random() * 10);
    }
  };
}

function codeOf(error: unknown): string {
  return (error as { code?: string }).code ?? String(error);
}
