import { setTimeout as sleep } from "node:timers/promises";
import { Redlock } from "@holdfast/core";
import { ioredisNode } from "@holdfast/ioredis";
import { startRedisServer } from "@holdfast/testkit";
import { createCleanup } from "@holdfast/testkit/cleanup";
import { Redis } from "ioredis";
import { countCalls, type FileCalls, totalsOf } from "./coverage.ts";

/** The calls for one lock. */
export interface PathOfOneLock {
  readonly acquire: readonly FileCalls[];
  readonly release: readonly FileCalls[];
}

const nodeCount = 3;
/** Long enough for servers on a busy machine. */
const nodeTimeoutMs = 2_000;
const warmUps = 20;
/** The shortest path of these counts: it depends on which replies arrive together. */
const samples = 15;
/** The calls for replies after the quorum count, too. */
const settleMs = 50;

/** Counts the calls for one uncontended lock over Redis servers, after a warm-up. */
export async function pathOfOneLock(): Promise<PathOfOneLock> {
  const cleanup = createCleanup();
  try {
    const startNode = async () => {
      const server = await startRedisServer();
      cleanup.defer(() => server.stop());
      const client = new Redis(server.url);
      cleanup.defer(() => client.disconnect());
      const node = ioredisNode(client);
      cleanup.defer(() => node.close());
      return node;
    };
    const nodes = await Promise.all(Array.from({ length: nodeCount }, startNode));
    const redlock = new Redlock(nodes, { nodeTimeoutMs });
    const counter = await countCalls();
    cleanup.defer(() => counter.stop());

    for (let number = 1; number <= warmUps; number++) {
      const lock = await redlock.acquire(`warm-up:${number}`);
      await lock.release();
    }
    await sleep(settleMs);
    const acquires: FileCalls[][] = [];
    const releases: FileCalls[][] = [];
    for (let number = 1; number <= samples; number++) {
      await counter.take();
      const lock = await redlock.acquire(`invoice:${number}`);
      await sleep(settleMs);
      acquires.push(await counter.take());
      await lock.release();
      await sleep(settleMs);
      releases.push(await counter.take());
    }
    return { acquire: shortest(acquires), release: shortest(releases) };
  } finally {
    await cleanup.run();
  }
}

/** Returns the path with the fewest functions and, of several such, with the fewest calls. */
function shortest(paths: readonly FileCalls[][]): FileCalls[] {
  const lengthOf = (path: FileCalls[]): number => 1_000 * totalsOf(path).functions + totalsOf(path).calls;
  return paths.reduce((best, path) => (lengthOf(path) < lengthOf(best) ? path : best));
}
