import { HoldfastError, type LockNode, Redlock } from "@holdfast/core";

type Deed = (redlock: Redlock, turn: number) => Promise<unknown>;

/** More than workers, so that only some of them contend. */
const resources = Array.from({ length: 16 }, (_, index) => `soak:${index}`);
const workersPerWorld = 12;

/** Everything that a `Redlock` does, again and again. */
const deeds = {
  using: (redlock, turn) => redlock.using(resourceOf(turn), (lock) => lock.signal.throwIfAborted()),
  async extended(redlock, turn) {
    const lock = await redlock.acquire([resourceOf(turn), resourceOf(turn + 1)]);
    await lock.extend();
    await lock.release();
  },
  async tried(redlock, turn) {
    const lock = await redlock.tryAcquire(resourceOf(turn));
    await lock?.release();
  },
  /** All workers want this lock. */
  waited: async (redlock) => (await redlock.acquire("soak:wanted")).release(),
  async aborted(redlock, turn) {
    const gone = new AbortController();
    const lock = redlock.acquire(resourceOf(turn), { signal: gone.signal }).catch(() => undefined);
    gone.abort();
    await (await lock)?.release();
  },
} satisfies Record<string, Deed>;

const names = Object.keys(deeds) as (keyof typeof deeds)[];

/** The number of deeds of each kind, and of those refused because of contention. */
export type Counts = Record<keyof typeof deeds | "refused", number>;

/** Does everything over each of the sets of nodes for that time, and resolves when all has settled. */
export async function work(worlds: readonly (readonly LockNode[])[], ms: number): Promise<Counts> {
  const endMs = performance.now() + ms;
  const counts: Counts = { using: 0, extended: 0, tried: 0, waited: 0, aborted: 0, refused: 0 };
  const workOn = async (redlock: Redlock, seed: number): Promise<void> => {
    for (let turn = seed; performance.now() <= endMs; turn += 1) {
      // Memory nodes reply without I/O, so I/O would otherwise starve.
      if (turn % 16 === 0) await new Promise((resolve) => setImmediate(resolve));
      const name = names[turn % names.length] as keyof typeof deeds;
      try {
        await deeds[name](redlock, turn);
        counts[name] += 1;
      } catch (error) {
        if (!(error instanceof HoldfastError)) throw error;
        counts.refused += 1;
      }
    }
  };
  const workers = worlds.flatMap((nodes, world) => {
    // Generous: a machine that is busy with something else must not count as a finding.
    const redlock = new Redlock(nodes, { nodeTimeoutMs: 1_000, waitTimeoutMs: 5_000 });
    return Array.from({ length: workersPerWorld }, (_, worker) => workOn(redlock, world + worker));
  });
  await Promise.all(workers);
  return counts;
}

function resourceOf(turn: number): string {
  return resources[(turn * 7) % resources.length] as string;
}
