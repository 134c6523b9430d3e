/** A client in a process of its own, which goes on locking while the servers change. */
import { setImmediate, setTimeout as sleep } from "node:timers/promises";
import { serveParent } from "@holdfast/app-kit/worker";
import { type Lock, type LockNode, type LockOptions, Redlock, systemClock } from "@holdfast/core";
import { monotonicMs } from "@holdfast/testkit/monotonic";
import { connectStore } from "../client/store.ts";
import { type Hold, visit } from "../client/visit.ts";
import type { MemberEvents, MemberOrder } from "./messages.ts";
import { connectStage } from "./sets.ts";
import type { Stage } from "./stages.ts";

/** A `Redlock` of one stage. */
interface Locks {
  readonly stage: Stage;
  readonly redlock: Redlock;
  /** Ends the waits for locks, because the next stage has begun or the client leaves. */
  readonly leaving: AbortController;
  /** The locks that are held. */
  readonly held: Set<Promise<unknown>>;
  close(): Promise<void>;
}

/** Longer than any wait in a run: a fault makes clients wait, and must not make them fail. */
const waitTimeoutMs = 60_000;

/** After an error, which is a finding. */
const pauseAfterErrorMs = 200;

let order: MemberOrder;
let store: Awaited<ReturnType<typeof connectStore>>;
let locks: Locks;
let hasLeft = false;
let loops: Promise<unknown> = Promise.resolve();
let visits = 0;
/** When the latest attempt for each resource began. */
const attemptsAtMs = new Map<string, number>();

const functions = {
  /** Connects, and starts to take locks. */
  async open(given: MemberOrder): Promise<void> {
    order = given;
    store = await connectStore(order.storeUrl);
    locks = await openLocks(order.stage);
    loops = Promise.all([takeShortLocks(), takeLongLocks()]);
  },

  /** Takes all further locks with a second `Redlock`, and resolves when the locks of the first one have ended. */
  async enter(stage: Stage): Promise<void> {
    const former = locks;
    locks = await openLocks(stage);
    await leave(former);
  },

  /** Ends all locks, so that the process can end. */
  async leave(): Promise<void> {
    hasLeft = true;
    await leave(locks);
    await loops;
  },
};

/** The functions that the parent calls. */
export type MemberFunctions = typeof functions;

const parent = serveParent<MemberEvents>(functions);

async function openLocks(stage: Stage): Promise<Locks> {
  const { ttlMs, clockAheadMs } = order;
  const { nodes, close } = await connectStage(stage, order, order.ignoresEpochs ? withoutEpoch : undefined);
  const redlock = new Redlock(nodes, {
    epoch: stage.epoch,
    ttlMs,
    nodeTimeoutMs: ttlMs / 6, // long, for busy machines
    waitTimeoutMs,
    label: order.client,
    // The clocks are wrong, so that tokens have no other order than that of the counters on the nodes.
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

async function leave({ redlock, leaving, held, close }: Locks): Promise<void> {
  leaving.abort();
  await setImmediate(); // a lock that was granted just now is in `held` then
  while (held.size > 0) await Promise.all(held);
  await redlock.close();
  await close();
}

async function takeShortLocks(): Promise<void> {
  while (!hasLeft) {
    const isJoint = locks.stage.sets.length === 2;
    const resources = isJoint ? order.resources : [...order.resources, ...order.quietResources];
    const resource = resources[Math.floor(Math.random() * resources.length)] as string;
    await underLock(resource, {}, 5 + Math.random() * 25);
    await sleep(30 + Math.random() * 120);
  }
}

/** Takes locks that last longer than their ttl, and are extended automatically. */
async function takeLongLocks(): Promise<void> {
  while (!hasLeft) {
    await underLock(order.longResource, { autoExtend: true }, order.ttlMs * (1.05 + Math.random() / 5));
    await sleep(200);
  }
}

/** Acquires a lock, with the `Redlock` of the next stage if it opens meanwhile, and adds an element to the store. */
async function underLock(resource: string, options: LockOptions, dwellMs: number): Promise<void> {
  const calledAtMs = monotonicMs();
  while (!hasLeft) {
    const { redlock, stage, leaving, held } = locks;
    if (stage.sets.length === 2 && order.quietResources.includes(resource)) return;
    const fail = (what: string, error: unknown): void => {
      const message = `${what}: ${(error as Error).message}`;
      parent.emit("failed", { client: order.client, epoch: stage.epoch, atMs: monotonicMs(), message });
    };
    const lock = await redlock.acquire(resource, { ...options, signal: leaving.signal }).catch((error) => {
      if (leaving.signal.aborted) return "left";
      fail("acquire", error);
      return sleep(pauseAfterErrorMs, "failed");
    });
    if (typeof lock === "string") continue;
    const ended = visitUnder(lock, { resource, dwellMs, calledAtMs, epoch: stage.epoch, fail });
    held.add(ended);
    await ended.finally(() => held.delete(ended));
    return;
  }
}

/** One visit. */
interface Occasion {
  readonly resource: string;
  readonly dwellMs: number;
  readonly calledAtMs: number;
  readonly epoch: number;
  fail(what: string, error: unknown): void;
}

async function visitUnder(lock: Lock, { resource, dwellMs, calledAtMs, epoch, fail }: Occasion): Promise<void> {
  const { client } = order;
  const attemptAtMs = attemptsAtMs.get(resource) ?? calledAtMs;
  const recorded = await visit(holdOf(lock, resource, fail), {
    client,
    element: `${client}-${process.pid}.${++visits}`,
    dwellMs,
    extend: visits % 8 === 0,
    attemptAtMs,
    store: store.of(resource),
    tell(message) {
      if (message.kind !== "granted") return;
      const { fence, grantedAtMs } = message;
      const waitedMs = grantedAtMs - calledAtMs;
      parent.emit("granted", { client, resource, epoch, fence, attemptAtMs, grantedAtMs, waitedMs });
    },
  });
  if (lock.signal.aborted) fail("lost", lock.signal.reason);
  parent.emit("visited", { ...recorded, resource, epoch });
}

/** Returns the lock as a visit needs it, with a record of its release, and of a release that fails. */
function holdOf(lock: Lock, resource: string, fail: Occasion["fail"]): Hold {
  return {
    fence: lock.fence,
    signal: lock.signal,
    remainingMs: () => lock.remainingMs(),
    extend: () => lock.extend(),
    release() {
      parent.emit("releasing", order.client, resource, monotonicMs());
      return lock.release().catch((error) => fail("release", error));
    },
  };
}
