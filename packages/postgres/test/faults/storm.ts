import { setTimeout as sleep } from "node:timers/promises";
import type { Lock, Redlock } from "@holdfast/core";
import type { PostgresServer } from "@holdfast/testkit/postgres-server";
import { expect, onTestFinished, type TestContext } from "vitest";
import { openClient } from "./client.ts";
import { createLedger } from "./ledger.ts";

/** Clients that lock overlapping sets of a few resources until they are told to stop. */
export interface Storm {
  /** Resolves when this many more locks have been granted. */
  grants(count: number): Promise<void>;
  /** The largest fencing token of each resource so far. */
  readonly fences: ReadonlyMap<string, number>;
  /** Stops all workers, annotates the test with figures, and expects exclusion, tokens in order, and no deadlock. */
  expectExclusion(annotate: TestContext["annotate"], title: string): Promise<void>;
}

const names = ["storm:a", "storm:b", "storm:c", "storm:d", "storm:e"];
const clientCount = 6;
const workersOfClient = 4;
const ttlMs = 250;

const grantsTimeoutMs = 60_000;

/**
 * Starts 24 workers, four on each of six clients. The clocks of three clients are far behind. Two clients, one of each
 * kind, use postgres.js, and the others a pool of pg.
 */
export function startStorm(server: PostgresServer, connectionString = server.connectionString): Storm {
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
  const end = async (): Promise<void> => {
    isOver = true;
    await Promise.all(workers);
  };
  onTestFinished(end);
  return {
    fences: ledger.fences,
    async expectExclusion(annotate, title) {
      await end();
      const gaps = times.slice(1).map((time, index) => time - (times[index] as number));
      const longestGapMs = Math.round(Math.max(...gaps));
      const { locks, overlaps, fenceFaults } = ledger;
      const figures = { locks, abandoned, failures, longestGapMs, overlaps, fenceFaults };
      await annotate(`${title}: ${JSON.stringify(figures)}`);
      expect(figures).toMatchObject({ overlaps: [], fenceFaults: [] });
      expect(await server.log()).not.toContain("deadlock detected");
    },
    async grants(count) {
      const wanted = ledger.locks + count;
      for (const endMs = performance.now() + grantsTimeoutMs; ledger.locks < wanted; await sleep(5)) {
        if (performance.now() < endMs) continue;
        throw new Error(
          `${wanted - ledger.locks} of ${count} locks are missing; failures: ${JSON.stringify(failures)}`,
        );
      }
    },
  };
}

/** Returns one to three of five resources, in any order. */
function someResources(): string[] {
  const count = 1 + Math.floor(Math.random() * 3);
  return [...names].sort(() => Math.random() - 0.5).slice(0, count);
}

/** Holds a lock in one of several ways. Resolves with whether it shall be released. */
async function hold(lock: Lock): Promise<boolean> {
  const chance = Math.random();
  await sleep(Math.random() * 5);
  if (chance < 0.2) await lock.extend().catch(() => {});
  if (chance < 0.01) await sleep(ttlMs); // until another one may have the lock
  return chance < 0.99;
}
