import { setTimeout as sleep } from "node:timers/promises";
import { Redlock } from "@holdfast/core";
import { type Election, election } from "@holdfast/core/election";
import { monotonicMs } from "@holdfast/testkit/monotonic";
import type { Connected } from "../adapter.ts";
import type { ClientOrder, Contention, FromClient } from "./messages.ts";
import type { Store } from "./store.ts";
import { type Hold, visit } from "./visit.ts";

interface Job extends ClientOrder, Contention {
  readonly nodes: Connected["nodes"];
  readonly store: Store;
}

let visits = 0;

/** Visits the sets under the one lock that all clients want, or as the leader, again and again until the signal aborts. */
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
  const visitUnder = async (lock: Hold): Promise<void> => {
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
  };
  if (job.election) return leadUntil(election(redlock, "chaos", { label: client }), visitUnder, stop);
  while (!stop.aborted) {
    // A failure shows in the availability.
    const lock = await redlock.acquire("chaos", { label: client, signal: stop }).catch(() => undefined);
    if (lock) await visitUnder(lock);
    await sleep(Math.random() * 10);
  }
}

/** Leads in turn with the other clients. Every third term ends while it is being extended. */
async function leadUntil(jobs: Election, visitUnder: (lock: Hold) => Promise<void>, stop: AbortSignal): Promise<void> {
  let terms = 0;
  for await (const term of jobs.campaign({ signal: stop })) {
    terms += 1;
    const release = (): Promise<void> => {
      if (terms % 3 === 0) term.extend().catch(() => {}); // the term ends before the replies
      return term.resign();
    };
    await visitUnder({
      fence: term.fence,
      get signal() {
        return term.signal;
      },
      remainingMs: () => term.remainingMs(),
      extend: () => term.extend(),
      release,
    });
  }
}
