import { defaultNodeTimeoutMs, type Lock, type LockOptions, type NodeSet, type Redlock } from "@holdfast/core";
import type { NodeView } from "@holdfast/core/node";

/** The upper limits of the random delay between two rounds, in milliseconds: the first one, and any. */
const delayMs = 25;
const delayMaxMs = 400;

/** How long to wait for the nodes to release an owner, in milliseconds. */
const timeoutMs = defaultNodeTimeoutMs(10_000);

/**
 * Acquires an exclusive lock by releasing whoever holds it. The holders are not asked: each learns of it when a quorum
 * refuses its next extension. Until then both act, and only the fence distinguishes them.
 *
 * Every owner that any node names is released on all nodes, as `holdfast release` does, and an attempt follows at once.
 * The releases count as undoing an attempt, so that the nodes do not notify the clients that wait.
 *
 * @throws any error of `Redlock.tryAcquire`
 */
export async function takeOver(redlock: Redlock, resource: string, options: LockOptions): Promise<Lock> {
  for (let limitMs = delayMs; ; limitMs = Math.min(2 * limitMs, delayMaxMs)) {
    const { nodes, sets } = await redlock.inspect(resource);
    const owners = new Set(nodes.flatMap(({ view }) => (view === null ? [] : ownersIn(view))));
    await Promise.all([...owners].map((owner) => release(redlock, resource, owner, sets)));
    const lock = await redlock.tryAcquire(resource, options);
    if (lock !== null) return lock;
    await pause(redlock, Math.random() * limitMs); // another client was faster, or steals as well
  }
}

function ownersIn({ owner, sharers = [] }: NodeView): string[] {
  return [...(owner === null ? [] : [owner]), ...sharers.map((sharer) => sharer.owner)];
}

/** Releases an owner on all nodes, and waits until quorums have done so, all have replied, or {@link timeoutMs}. */
function release({ nodes, clock }: Redlock, resource: string, owner: string, sets: readonly NodeSet[]): Promise<void> {
  const request = Object.freeze({ resources: Object.freeze([resource]), owner, timeoutMs, undo: true });
  return new Promise((resolve) => {
    const cancelTimer = clock.startTimer(timeoutMs, resolve);
    const released = new Set<string>();
    const hasReleased = ({ nodes: names, quorum }: NodeSet): boolean =>
      names.filter((name) => released.has(name)).length >= quorum;
    let settled = 0;
    for (const node of nodes) {
      const call = async () => node.release(request);
      const count = (isReleased: boolean) => {
        settled += 1;
        if (isReleased) released.add(node.name);
        if (!sets.every(hasReleased) && settled < nodes.length) return;
        cancelTimer();
        resolve();
      };
      call().then(
        () => count(true),
        () => count(false),
      );
    }
  });
}

function pause({ clock }: Redlock, ms: number): Promise<void> {
  return new Promise((resolve) => void clock.startTimer(ms, resolve));
}
