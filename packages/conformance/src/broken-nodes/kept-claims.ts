import { setTimeout } from "node:timers/promises";
import {
  type AcquireReply,
  type AcquireRequest,
  assertAcquire,
  type ExtendRequest,
  type LockNode,
} from "@holdfast/core/node";
import { dayMs } from "../world/durations.ts";
import { type BrokenNode, broken, brokenIf, forgetting, type Wrapper } from "./broken-node.ts";

/** A claim that a wrapper has seen granted. */
interface SeenClaim {
  readonly request: AcquireRequest | ExtendRequest;
  readonly atMs: number;
}

/** Records each claim that a node grants until its release. */
function withClaims(node: LockNode, claims: Map<string, SeenClaim>, elapsedMs: () => number): LockNode {
  const keyOf = (owner: string, resources: readonly string[]): string => JSON.stringify([owner, ...resources]);
  return {
    ...node,
    async acquire(request) {
      const reply = await node.acquire(request);
      const { owner, resources } = request;
      if (reply.granted) claims.set(keyOf(owner, resources), { request, atMs: elapsedMs() });
      return reply;
    },
    async extend(request) {
      const reply = await node.extend(request);
      const { owner, resources } = request;
      if (reply.held) claims.set(keyOf(owner, resources), { request, atMs: elapsedMs() });
      return reply;
    },
    async release(request) {
      claims.delete(keyOf(request.owner, request.resources));
      return node.release(request);
    },
  };
}

/** Runs a step before each call of the node. */
function before(node: LockNode, step: () => Promise<void>): Partial<LockNode> {
  const { inspect } = node;
  return {
    acquire: (request) => step().then(() => node.acquire(request)),
    extend: (request) => step().then(() => node.extend(request)),
    release: (request) => step().then(() => node.release(request)),
    ...(inspect && { inspect: (resource) => step().then(() => inspect(resource)) }),
  };
}

/** Ends claims that are at least `afterMs` old. */
function endingAfter(node: LockNode, elapsedMs: () => number, afterMs: number): Partial<LockNode> {
  const claims = new Map<string, SeenClaim>();
  const seeing = withClaims(node, claims, elapsedMs);
  return before(seeing, async () => {
    for (const { request, atMs } of claims.values()) {
      if (elapsedMs() - atMs >= afterMs) await seeing.release(request);
    }
  });
}

/** Ends claims that are at most `agedMs` old, `afterMs` after a call has shown that the connection was lost. */
function endingWithConnection(
  node: LockNode,
  elapsedMs: () => number,
  { agedMs = Number.POSITIVE_INFINITY, afterMs = 0 }: { agedMs?: number; afterMs?: number } = {},
): Partial<LockNode> {
  const claims = new Map<string, SeenClaim>();
  const seeing = withClaims(node, claims, elapsedMs);
  let lost: (SeenClaim & { readonly lostAtMs: number })[] = [];
  const noticing = async <Reply>(call: Promise<Reply>): Promise<Reply> => {
    try {
      return await call;
    } catch (error) {
      const lostAtMs = elapsedMs();
      for (const claim of claims.values()) if (lostAtMs - claim.atMs <= agedMs) lost.push({ ...claim, lostAtMs });
      claims.clear();
      throw error;
    }
  };
  return before(
    {
      ...seeing,
      acquire: (request) => noticing(seeing.acquire(request)),
      extend: (request) => noticing(seeing.extend(request)),
    },
    async () => {
      const isDue = ({ lostAtMs }: (typeof lost)[0]): boolean => elapsedMs() - lostAtMs >= afterMs;
      const due = lost.filter(isDue);
      lost = lost.filter((claim) => !isDue(claim));
      for (const claim of due) await node.release(claim.request).catch(() => lost.push(claim));
    },
  );
}

/** Loses counters some time after their resources were released. */
const forgettingAfter = (afterMs: number): Wrapper<LockNode> =>
  forgetting((node, forget, elapsedMs) => {
    const releasedAtMs = new Map<string, number>();
    return {
      async acquire(request) {
        for (const resource of request.resources ?? []) {
          const atMs = releasedAtMs.get(resource);
          releasedAtMs.delete(resource);
          if (atMs !== undefined && elapsedMs() - atMs >= afterMs) forget(resource);
        }
        return node.acquire(request);
      },
      async release(request) {
        const reply = await node.release(request);
        if (reply.released) for (const resource of request.resources) releasedAtMs.set(resource, elapsedMs());
        return reply;
      },
    };
  });

/** Grants at once, and lets the store commit later. Calls of this process wait for the commit and do not notice. */
function committingLater(node: Required<LockNode>): Partial<LockNode> {
  let commits: Promise<unknown> = Promise.resolve();
  const later = (commit: () => Promise<unknown>): void => {
    commits = commits
      .then(() => setTimeout(20))
      .then(commit, commit)
      .catch(() => {});
  };
  return {
    ...before(node, async () => void (await commits)),
    async acquire(request) {
      assertAcquire(request);
      await commits;
      const [resource, ...others] = request.resources;
      const view = await node.inspect(resource as string);
      if (view.owner !== null || others.length > 0) return node.acquire(request);
      const fence = Math.max(view.fence + 1, Math.min(request.fenceHint, (Date.now() + dayMs) * 1_000));
      later(() => node.acquire({ ...request, fenceHint: fence }));
      return { granted: true, fence };
    },
  };
}

/** Resolves a release at once, and lets the store free the claim later. */
function releasingLater(node: Required<LockNode>): Partial<LockNode> {
  let commits: Promise<unknown> = Promise.resolve();
  return {
    ...before(node, async () => void (await commits)),
    async release(request) {
      await commits;
      const views = await Promise.all(request.resources.map((resource) => node.inspect(resource)));
      const released = views.some(({ owner }) => owner === request.owner);
      if (released)
        commits = setTimeout(20)
          .then(() => node.release(request))
          .catch(() => {});
      return released ? { released } : node.release(request);
    },
  };
}

/** Checks and claims in two steps, with a mutex in this process around both. */
function twoStepsUnderMutex(node: Required<LockNode>): Partial<LockNode> {
  let tail: Promise<unknown> = Promise.resolve();
  const alone = <Reply>(step: () => Promise<Reply>): Promise<Reply> => {
    const result = tail.then(step, step);
    tail = result.catch(() => {});
    return result;
  };
  const claim = async (request: AcquireRequest): Promise<AcquireReply> => {
    const [resource] = request.resources as [string];
    const { owner: seen } = await node.inspect(resource);
    if (seen === null) await setTimeout(5);
    const reply = await node.acquire(request);
    if (reply.granted || seen !== null || request.resources.length > 1) return reply;
    // It was free in the first step, so the second one claims it.
    const { owner } = await node.inspect(resource);
    if (owner !== null) await node.release({ ...request, owner });
    return node.acquire(request);
  };
  return {
    acquire: (request) => alone(() => claim(request)),
    extend: (request) => alone(() => node.extend(request)),
    release: (request) => alone(() => node.release(request)),
  };
}

/** Faults that show only after a while, after an outage, or in another process. */
export const brokenKeptClaims: readonly BrokenNode[] = [
  ...brokenIf(["server"], {
    "a claim outlives the connection that made it, and still belongs to its owner": {
      "ends claims with the connection that made them": (node, elapsedMs) => endingWithConnection(node, elapsedMs),
    },
    "claims last for seconds after the connection that made them was lost": {
      "ends claims some seconds after their connection was lost": (node, elapsedMs) =>
        endingWithConnection(node, elapsedMs, { afterMs: 2_000 }),
    },
    "a reply stays true even if the connection is lost right after it": {
      // An older claim has been committed.
      "loses its latest change when the connection is lost": (node, elapsedMs) =>
        endingWithConnection(node, elapsedMs, { agedMs: 1_000 }),
    },
  }),
  ...brokenIf(["inspect", "otherProcess"], {
    "a claim excludes another process from the reply of acquire() until the reply of release()": {
      "grants a claim before the store has committed it": committingLater,
      "resolves a release before the store has committed it": releasingLater,
    },
    "acquire() grants exactly one of 40 claims that two processes send at once": {
      "checks and claims in two steps, under a mutex of its own process": twoStepsUnderMutex,
    },
  }),
  ...brokenIf(["ownCounters"], {
    "fence counters are kept for seconds after their claims have ended": {
      "forgets a counter two seconds after the release": forgettingAfter(2_000),
    },
  }),
  ...broken({
    "claims last for seconds without an extension": {
      "ends claims of a client that is silent for three seconds": (node, elapsedMs) =>
        endingAfter(node, elapsedMs, 3_000),
    },
  }),
];
