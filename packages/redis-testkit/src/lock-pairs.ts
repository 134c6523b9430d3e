import { type LockNode, Redlock } from "@holdfast/core";

/** The number of locks after the code is warm, for which collections are counted. */
export const measuredPairs = 30_000;

const warmUpPairs = 10_000;

/** How often the requests in flight are made old, so that a chain that begins with one of them shows. */
const agings = 10;

/**
 * Acquires and releases locks, `atOnce` at a time, and prints when the measured part begins and ends. Needs
 * `--expose-gc`.
 */
export async function lockPairs(nodes: readonly LockNode[], atOnce: number): Promise<void> {
  await using redlock = new Redlock(nodes, { ttlMs: 60_000, nodeTimeoutMs: 10_000 });
  let left = 0;
  // What survives two collections is old.
  const makeOld = (): void => {
    for (let times = 0; times < 2; times++) globalThis.gc?.({ type: "minor", execution: "sync" });
  };
  const work = async (_: unknown, worker: number): Promise<void> => {
    while (left-- > 0) {
      if (left % Math.ceil(measuredPairs / agings) === 0) makeOld();
      const lock = await redlock.acquire(`job:${worker}:${left % 50}`);
      await lock.release();
    }
  };
  for (const [part, pairs] of Object.entries({ "warm-up": warmUpPairs, measure: measuredPairs, end: 0 })) {
    console.log(`${part}: ${pairs}`);
    left = pairs;
    await Promise.all(Array.from({ length: atOnce }, work));
  }
}
