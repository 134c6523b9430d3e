import { setTimeout as sleep } from "node:timers/promises";
import type { Lock, Redlock } from "@holdfast/core";
import { onTestFinished } from "vitest";
import { openClient } from "./client.ts";
import { createLedger } from "./ledger.ts";
import { someResources } from "./resources.ts";

/** How a storm went, in numbers to cite. */
export interface StormFigures {
  /** The number of locks granted, and of those whose holder did not release them. */
  readonly locks: number;
  readonly abandoned: number;
  /** The number of calls that ended without a lock, by the code of their error. */
  readonly failures: Readonly<Record<string, number>>;
  /** The longest time between two locks, in milliseconds. */
  readonly longestGapMs: number;
  /** Violations, in words. */
  readonly overlaps: readonly string[];
  readonly fenceFaults: readonly string[];
}

/** Clients that lock overlapping sets of a few resources until they are told to stop. */
export interface Storm {
  /** Resolves when this many more locks have been granted, times the scale of the storm. */
  grants(count: number): Promise<void>;
  /** The largest fencing token of each resource so far. */
  readonly fences: ReadonlyMap<string, number>;
  /** Stops all workers. */
  end(): Promise<StormFigures>;
}

const clientCount = 6;
const workersOfClient = 4;
const ttlMs = 250;

/** How much longer than usual a storm lasts: `HOLDFAST_STORM_SCALE`, for measurements. */
const scale = Number(process.env.HOLDFAST_STORM_SCALE ?? 1);
const grantsTimeoutMs = scale * 60_000;

/**
 * Starts 24 workers, four on each of six clients. The clocks of three clients are far behind. Two clients, one of each
 * kind, use postgres.js, and the others a pool of pg.
 */
export function startStorm(connectionString: string): Storm {
  const ledger = createLedger();
  const failures: Record<string, number> = {};
  const times = [performance.now()];
  let abandoned = 0;
  let isOver = false;

  const work = async (redlock: Redlock): Promise<void> => {
    while (!isOver) {
      const lock = await redlock.acquire(someResources()).catch((error) => {
        failures[error.code ?? error.name] = (failures[error.code ?? error.name] ?? 0) + 1;
        if (typeof error.code !== "string") throw error;
      });
      if (lock === undefined) continue;
      ledger.enter(lock);
      times.push(performance.now());
      if (await hold(lock)) {
        ledger.leave(lock);
        await lock.release().catch(() => {}); // the claim then ends with its ttl
      } else abandoned += 1;
    }
  };

  const options = { ttlMs, nodeTimeoutMs: 150, waitTimeoutMs: 2_000 };
  const workers = Array.from({ length: clientCount }, (_, index) => {
    const kind = { isBehind: index % 2 === 0, overPostgresJs: index % 3 === 0 };
    const { redlock } = openClient(connectionString, { ...options, ...kind });
    return Array.from({ length: workersOfClient }, () => work(redlock));
  }).flat();
  const end = async (): Promise<StormFigures> => {
    isOver = true;
    await Promise.all(workers);
    const gaps = times.slice(1).map((time, index) => time - (times[index] as number));
    const longestGapMs = Math.round(Math.max(...gaps));
    const { locks, overlaps, fenceFaults } = ledger;
    return { locks, abandoned, failures, longestGapMs, overlaps, fenceFaults };
  };
  let ended: Promise<StormFigures> | undefined;
  const endOnce = () => (ended ??= end());
  onTestFinished(async () => void (await endOnce()));
  return {
    fences: ledger.fences,
    end: endOnce,
    async grants(count) {
      const wanted = ledger.locks + scale * count;
      for (const endMs = performance.now() + grantsTimeoutMs; ledger.locks < wanted; await sleep(5)) {
        if (performance.now() < endMs) continue;
        throw new Error(
          `${wanted - ledger.locks} of ${scale * count} locks are missing; failures: ${JSON.stringify(failures)}`,
        );
      }
    },
  };
}

/** Holds a lock in one of several ways. Resolves with whether it shall be released. */
async function hold(lock: Lock): Promise<boolean> {
  const chance = Math.random();
  await sleep(Math.random() * 5);
  if (chance < 0.2) await lock.extend().catch(() => {});
  if (chance < 0.01) await sleep(ttlMs); // until another one may have the lock
  return chance < 0.99;
}
