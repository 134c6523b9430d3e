import { HoldfastError, Redlock } from "@holdfast/core";
import type { World } from "./worlds.ts";

/** The number of operations of each kind, and of those refused because of contention. */
export type Counts = Record<"using" | "extended" | "tried" | "waited" | "gaveUp" | "refused", number>;

/** Makes counts of 0. */
export function noCounts(): Counts {
  return { using: 0, extended: 0, tried: 0, waited: 0, gaveUp: 0, refused: 0 };
}

/** More than workers, so that only some of them contend. */
const resources = Array.from({ length: 16 }, (_, index) => `soak:${index}`);
const workersPerWorld = 12;

/** Uses all features of `Redlock` until `isOver()`, and resolves when all operations have settled. */
export async function work(worlds: readonly World[], counts: Counts, isOver: () => boolean): Promise<void> {
  const workers = worlds.flatMap(({ nodes }, world) => {
    // Generous: a machine that is busy with something else must not count as a finding.
    const redlock = new Redlock(nodes, { nodeTimeoutMs: 1_000, waitTimeoutMs: 5_000 });
    return Array.from({ length: workersPerWorld }, (_, worker) => workOn(redlock, world + worker, counts, isOver));
  });
  await Promise.all(workers);
}

async function workOn(redlock: Redlock, seed: number, counts: Counts, isOver: () => boolean): Promise<void> {
  for (let turn = seed; !isOver(); turn += 1) {
    // Memory nodes reply without I/O, so I/O would otherwise starve.
    if (turn % 16 === 0) await new Promise((resolve) => setImmediate(resolve));
    try {
      await deeds[turn % deeds.length]?.(redlock, turn, counts);
    } catch (error) {
      if (!(error instanceof HoldfastError)) throw error;
      counts.refused += 1;
    }
  }
}

type Deed = (redlock: Redlock, turn: number, counts: Counts) => Promise<void>;

const deeds: readonly Deed[] = [
  async (redlock, turn, counts) => {
    await redlock.using(resourceOf(turn), (lock) => lock.signal.throwIfAborted());
    counts.using += 1;
  },
  async (redlock, turn, counts) => {
    const lock = await redlock.acquire([resourceOf(turn), resourceOf(turn + 1)]);
    await lock.extend();
    await lock.release();
    counts.extended += 1;
  },
  async (redlock, turn, counts) => {
    const lock = await redlock.tryAcquire(resourceOf(turn));
    await lock?.release();
    counts.tried += 1;
  },
  async (redlock, _, counts) => {
    // All workers want this lock.
    await using lock = await redlock.acquire("soak:wanted");
    counts.waited += lock.fence > 0 ? 1 : 0;
  },
  async (redlock, turn, counts) => {
    const gone = new AbortController();
    const lock = redlock.acquire(resourceOf(turn), { signal: gone.signal }).catch(() => undefined);
    gone.abort();
    await (await lock)?.release();
    counts.gaveUp += 1;
  },
];

function resourceOf(turn: number): string {
  return resources[(turn * 7) % resources.length] as string;
}
