/** A client in a process of its own, which goes on locking while it is attacked or its servers change. */
import { setImmediate, setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { serveParent } from "@holdfast/app-kit/worker";
import { type LockNode, Redlock, systemClock } from "@holdfast/core";
import { election } from "@holdfast/core/election";
import { monotonicMs } from "@holdfast/testkit/monotonic";
import type { ChaosAdapter } from "../adapter.ts";
import { connectStage } from "../world/connect.ts";
import type { Stage } from "../world/stages.ts";
import type { ClientMessage, ClientOrder, Task } from "./messages.ts";
import { connectStore } from "./store.ts";
import { type Hold, visit } from "./visit.ts";

/** A `Redlock` of one stage. */
interface Locks {
  readonly stage: Stage;
  readonly redlock: Redlock;
  /** Ends the waits for locks, because the next stage has begun. */
  readonly leaving: AbortController;
  /** The locks that are held. */
  readonly held: Set<Promise<unknown>>;
  close(): Promise<void> | void;
}

let order: ClientOrder;
let connect: ChaosAdapter["connect"];
let store: Awaited<ReturnType<typeof connectStore>>;
let locks: Locks | undefined;
let stopping = new AbortController();
let loops: Promise<unknown> = Promise.resolve();
let visits = 0;
/** When the latest attempt for each resource began. */
const attemptsAtMs = new Map<string, number>();

const functions = {
  /** Connects to the store. */
  async open(given: ClientOrder): Promise<void> {
    order = given;
    const adapter: Partial<ChaosAdapter> = await import(order.module);
    if (typeof adapter.connect !== "function") throw new TypeError(`${order.adapter} exports no function connect`);
    connect = adapter.connect;
    store = await connectStore(order.storeUrl);
  },

  /**
   * Connects to the servers of a stage, unless it is the present one. Takes all further locks with a second `Redlock`, and
   * resolves when the locks of the first one have ended.
   */
  async enter(stage: Stage): Promise<void> {
    if (isDeepStrictEqual(stage, locks?.stage)) return;
    const former = locks;
    locks = await openLocks(stage);
    await leave(former);
  },

  /** Starts to carry out these tasks, side by side. */
  work(tasks: readonly Task[]): void {
    stopping = new AbortController();
    loops = Promise.all(tasks.map((task) => (task.election ? lead(task) : takeLocks(task))));
  },

  /** Ends the tasks, and resolves when no lock is held. */
  async stop(): Promise<void> {
    stopping.abort();
    await loops;
  },

  /** Ends everything, so that the process can end. */
  async leave(): Promise<void> {
    await functions.stop();
    await leave(locks);
  },
};

/** The functions that the parent calls. */
export type ClientFunctions = typeof functions;

const parent = serveParent<{ tell(message: ClientMessage): void }>(functions);

function tell(message: ClientMessage): void {
  parent.emit("tell", message);
}

async function openLocks(stage: Stage): Promise<Locks> {
  const { clockAheadMs, urls, ignoresEpochs } = order;
  const { nodes, close } = await connectStage(stage, {
    connect,
    urls,
    adapt: ignoresEpochs ? withoutEpoch : undefined,
  });
  const redlock = new Redlock(nodes, {
    ...order.redlock,
    epoch: stage.epoch,
    label: order.client,
    clock: { ...systemClock, wallMs: () => systemClock.wallMs() + clockAheadMs },
    observer: {
      attemptSettled({ resources, elapsedMs }) {
        attemptsAtMs.set(String(resources), monotonicMs() - elapsedMs);
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

async function takeLocks(task: Task): Promise<void> {
  const { resources, quietResources = [] } = task;
  while (!stopping.signal.aborted) {
    const isJoint = locks?.stage.sets.length === 2;
    const all = isJoint ? resources : [...resources, ...quietResources];
    await takeLock(all[Math.floor(Math.random() * all.length)] as string, task);
    await sleep(between(task.restMs));
  }
}

/** Acquires a lock, with the `Redlock` of the next stage if it opens meanwhile, and adds an element to the store. */
async function takeLock(resource: string, task: Task): Promise<void> {
  const calledAtMs = monotonicMs();
  while (!stopping.signal.aborted) {
    const { redlock, stage, leaving, held } = locks as Locks;
    if (stage.sets.length === 2 && task.quietResources?.includes(resource)) return;
    const signal = AbortSignal.any([stopping.signal, leaving.signal]);
    const lock = await redlock.acquire(resource, { autoExtend: task.autoExtend, signal }).catch((error: Error) => {
      if (!signal.aborted) fail(stage.epoch, `acquire: ${error.message}`);
    });
    if (lock !== undefined) {
      const ended = visitUnder(lock, resource, task, { epoch: stage.epoch, calledAtMs });
      held.add(ended);
      await ended.finally(() => held.delete(ended));
    }
    if (lock !== undefined || !leaving.signal.aborted) return;
  }
}

/** Leads in turn with the other clients. Every third term ends while it is being extended. */
async function lead(task: Task): Promise<void> {
  const { redlock, stage } = locks as Locks;
  const [resource] = task.resources as [string];
  const { signal } = stopping;
  let terms = 0;
  let calledAtMs = monotonicMs();
  for await (const term of election(redlock, resource, { label: order.client }).campaign({ signal })) {
    terms += 1;
    const release = (): Promise<void> => {
      if (terms % 3 === 0) term.extend().catch(() => {}); // the term ends before the replies
      return term.resign();
    };
    const hold: Hold = {
      fence: term.fence,
      get signal() {
        return term.signal;
      },
      remainingMs: () => term.remainingMs(),
      extend: () => term.extend(),
      release,
    };
    await visitUnder(hold, resource, task, { epoch: stage.epoch, calledAtMs });
    calledAtMs = monotonicMs();
  }
}

/** How a client came by a lock. */
interface Occasion {
  readonly epoch: number;
  readonly calledAtMs: number;
}

async function visitUnder(lock: Hold, resource: string, task: Task, { epoch, calledAtMs }: Occasion): Promise<void> {
  visits += 1;
  await visit(lock, {
    ...{ client: order.client, resource, epoch, calledAtMs, tell },
    attemptAtMs: attemptsAtMs.get(resource) ?? calledAtMs,
    element: `${order.client}-${process.pid}.${visits}`,
    dwellMs: between(task.dwellMs),
    extend: visits % task.extendEvery === 0,
    store: store.of(`${task.sets}${resource}`),
    fail: (message) => fail(epoch, message),
  });
}

function fail(epoch: number, message: string): void {
  tell({ kind: "failed", client: order.client, epoch, atMs: monotonicMs(), message });
}

function between([least, most]: readonly [number, number]): number {
  return least + Math.random() * (most - least);
}
