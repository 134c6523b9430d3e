import { HoldfastError, Redlock } from "@holdfast/core";
import type { World } from "./worlds.ts";

/** How often each thing was done. Every value is counted; what is refused because of contention is, too. */
export type Counts = Record<"using" | "extended" | "tried" | "waited" | "gaveUp" | "refused", number>;

/** Nothing done yet. */
export function noCounts(): Counts {
  return { using: 0, extended: 0, tried: 0, waited: 0, gaveUp: 0, refused: 0 };
}

/** More than there are workers, so that some of them meet, and some do not. */
const resources = Array.from({ length: 16 }, (_, index) => `soak:${index}`);
const workersPerWorld = 12;

/** Does everything that a `Redlock` can do, as fast as it can, until it is told to stop; resolves when all has settled. */
export async function work(worlds: readonly World[], counts: Counts, isOver: () => boolean): Promise<void> {
  const workers = worlds.flatMap(({ nodes }, world) => {
    // Generous times: a machine that is busy with something else is no finding.
    const redlock = new Redlock(nodes, { nodeTimeoutMs: 1_000, waitTimeoutMs: 5_000 });
    return Array.from({ length: workersPerWorld }, (_, worker) => workOn(redlock, world + worker, counts, isOver));
  });
  await Promise.all(workers);
}

async function workOn(redlock: Redlock, seed: number, counts: Counts, isOver: () => boolean): Promise<void> {
  for (let turn = seed; !isOver(); turn += 1) {
    // The memory nodes answer without any I/O, which would never have its turn.
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
    // All workers want this one.
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
