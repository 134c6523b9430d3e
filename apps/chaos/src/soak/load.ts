import { connectNodes } from "@holdfast/app-kit/nodes";
import type { LockNode } from "@holdfast/core";
import { memoryNode } from "@holdfast/memory";
import { type Cleanup, createCleanup } from "@holdfast/testkit/cleanup";
import { startServers } from "../world/servers.ts";
import { type Findings, growthMaxMb, heapMb, leftSince, problem } from "./leftovers.ts";
import { work } from "./work.ts";

/** Uses all features of locks at full speed, over memory nodes and real servers, and checks that nothing is left behind. */
export async function loadAll(durationMs: number, outer: Cleanup): Promise<Findings> {
  const before = process.getActiveResourcesInfo();
  const cleanup = createCleanup();
  outer.defer(cleanup.run);
  const worlds = [
    Array.from({ length: 5 }, () => memoryNode()),
    await openServers("ioredis", cleanup),
    await openServers("node-redis", cleanup),
  ];
  await work(worlds, durationMs * 0.4);
  const heapBeforeMb = await heapMb();
  const startedAtMs = performance.now();
  const counts = Object.entries(await work(worlds, durationMs * 0.6));
  const seconds = (performance.now() - startedAtMs) / 1_000;
  const heapAfterMb = await heapMb();
  await cleanup.run();
  const left = await leftSince(before);

  const sum = counts.reduce((total, [, count]) => total + count, 0);
  const never = counts.filter(([deed, count]) => deed !== "refused" && count === 0).map(([deed]) => deed);
  const mb = (value: number): string => `${value.toFixed(1)} MB`;
  return {
    lines: [
      "over        5 memory nodes, 3 servers by ioredis, 3 servers by node-redis",
      `operations  ${sum.toLocaleString("en")} in ${seconds.toFixed(0)} s, after a warm-up`,
      `            ${counts.map(([deed, count]) => `${count} ${deed}`).join(", ")}`,
      `heap        ${mb(heapBeforeMb)} after the warm-up, ${mb(heapAfterMb)} at the end (at most ${growthMaxMb} MB more)`,
      `left open   ${left.length}`,
    ],
    problems: [
      ...(heapAfterMb - heapBeforeMb > growthMaxMb ? [`the heap has grown by more than ${growthMaxMb} MB`] : []),
      ...problem("resources are left", left),
      ...problem("some operations were never carried out", never),
    ],
  };
}

async function openServers(library: "ioredis" | "node-redis", cleanup: Cleanup): Promise<readonly LockNode[]> {
  const servers = await startServers(3, cleanup);
  const { nodes, close } = await connectNodes(
    library,
    servers.map(({ port }) => port),
  );
  cleanup.defer(close);
  return nodes;
}
