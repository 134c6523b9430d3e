/** A client in a process of its own, which goes on locking while it is attacked or its servers change. */
import { setImmediate, setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { serveParent } from "@holdfast/app-kit/worker";
import { type LockNode, Redlock, systemClock } from "@holdfast/core";
import { monotonicMs } from "@holdfast/testkit/monotonic";
import type { ChaosAdapter } from "../adapter.ts";
import { connectStage } from "../world/connect.ts";
import type { Stage } from "../world/stages.ts";
import type { ClientMessage, ClientOrder, Task } from "./messages.ts";
import { connectStore } from "./store.ts";
import { carryOut, type Desk, type Locks } from "./tasks.ts";

/** How long handles may take to close, in milliseconds. */
const closeMs = 5_000;

let handlesBefore: readonly string[];
let order: ClientOrder;
let connect: ChaosAdapter["connect"];
let store: Awaited<ReturnType<typeof connectStore>>;
let desk: Desk;
let stopping: AbortController;
let loops: Promise<unknown> = Promise.resolve();

const functions = {
  /** Connects to the store. */
  async open(given: ClientOrder): Promise<void> {
    order = given;
    handlesBefore = process.getActiveResourcesInfo();
    const adapter: Partial<ChaosAdapter> = await import(order.module);
    if (typeof adapter.connect !== "function") throw new TypeError(`${order.adapter} exports no function connect`);
    connect = adapter.connect;
    store = await connectStore(order.storeUrl);
    desk = {
      ...{ client: order.client, locks: undefined, stopping: AbortSignal.abort(), visits: 0 },
      ...{ attemptsAtMs: new Map(), steps: new Map(), deeds: new Map(), setsOf: store.of },
      tell: (message) => parent.emit("tell", message),
    };
  },

  /**
   * Connects to the servers of a stage, unless it is the present one. Takes all further locks with a second `Redlock`, and
   * resolves when the locks of the first one have ended.
   */
  async enter(stage: Stage): Promise<void> {
    const former = desk.locks;
    if (isDeepStrictEqual(stage, former?.stage)) return;
    desk.locks = await openLocks(stage);
    await leave(former);
  },

  /** Starts to carry out these tasks, side by side. */
  work(tasks: readonly Task[]): void {
    stopping = new AbortController();
    desk.stopping = stopping.signal;
    loops = Promise.all(tasks.map((task, index) => carryOut(desk, `${order.client}.${index + 1}`, task)));
  },

  /** Ends the tasks, and resolves when no lock is held. */
  async stop(): Promise<void> {
    stopping.abort();
    await loops;
  },

  /** Describes what all tasks are doing, if one of them has waited for a lock for that long. */
  hang(ms: number): string[] {
    const steps = [...desk.steps].map(([name, step]) => ({ ...step, name, forMs: monotonicMs() - step.sinceMs }));
    if (!steps.some(({ isWait, forMs }) => isWait && forMs >= ms)) return [];
    return steps.map(({ name, what, forMs }) => `${name} ${what} since ${(forMs / 1_000).toFixed(1)} s`);
  },

  /** Returns how often something was done. */
  deeds: () => desk.deeds,

  /** Returns the heap in use after garbage collection, in MB. */
  async heapMb(): Promise<number> {
    setFlagsFromString("--expose-gc");
    const collectGarbage = runInNewContext("gc");
    for (let pass = 0; pass < 4; pass++) {
      collectGarbage();
      await sleep(10); // for memory that a callback frees
    }
    return process.memoryUsage().heapUsed / 2 ** 20;
  },

  /** Closes everything, returns the kinds of the handles that are still open, and lets the process exit. */
  async leave(): Promise<string[]> {
    await functions.stop();
    await leave(desk.locks);
    store.close();
    const left = await leftOpen();
    void parent.leave();
    return left;
  },
};

/** The functions that the parent calls. */
export type ClientFunctions = typeof functions;

const parent = serveParent<{ tell(message: ClientMessage): void }>(functions);

async function openLocks(stage: Stage): Promise<Locks> {
  const { clockAheadMs = 0, urls, ignoresEpochs } = order;
  const { nodes, close } = await connectStage(stage, {
    connect,
    urls,
    adapt: ignoresEpochs ? withoutEpoch : undefined,
  });
  const redlock = new Redlock(nodes, {
    ...order.redlock,
    generation: stage.generation,
    label: order.client,
    clock: { ...systemClock, wallMs: () => systemClock.wallMs() + clockAheadMs },
    observer: {
      attemptSettled({ resources, elapsedMs }) {
        const [resource, second] = resources;
        // There are too many different sets of several.
        if (resource !== undefined && second === undefined) desk.attemptsAtMs.set(resource, monotonicMs() - elapsedMs);
      },
    },
  });
  return { stage, redlock, leaving: new AbortController(), held: new Set(), close };
}

/** Returns the node as it would be if it did not check epochs: requests without one are those of epoch 1. */
function withoutEpoch(node: LockNode): LockNode {
  return { ...node, acquire: ({ epoch: _, ...request }) => node.acquire(request) };
}

async function leave(former: Locks | undefined): Promise<void> {
  if (former === undefined) return;
  former.leaving.abort();
  await setImmediate(); // a lock that was granted just now is in `held` then
  while (former.held.size > 0) await Promise.all(former.held);
  await former.redlock.close();
  await former.close();
}

/** Waits until nothing more keeps the process alive than at the start, and returns what does after a time limit. */
async function leftOpen(): Promise<string[]> {
  for (const endMs = monotonicMs() + closeMs; ; await sleep(20)) {
    const left = process.getActiveResourcesInfo();
    for (const kind of handlesBefore) {
      const index = left.indexOf(kind);
      if (index !== -1) left.splice(index, 1);
    }
    if (left.length === 0 || monotonicMs() > endMs) return left;
  }
}
