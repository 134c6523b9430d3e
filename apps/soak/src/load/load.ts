import type { Findings } from "../findings.ts";
import { heapMb, leftSince } from "../leftovers.ts";
import { type Counts, noCounts, work } from "./work.ts";
import { openWorlds, type World } from "./worlds.ts";

/** Room for code that is compiled late, and for the caches of the clients. */
const growthMaxMb = 3;

/** Uses all features of locks at full speed, over memory nodes and real servers, and checks that nothing is left behind. */
export async function loadAll(durationMs: number): Promise<Findings> {
  const before = process.getActiveResourcesInfo();
  const worlds = await openWorlds();
  await workFor(durationMs * 0.4, worlds, noCounts());
  const heapBeforeMb = await heapMb();
  const counts = noCounts();
  const startedAtMs = performance.now();
  await workFor(durationMs * 0.6, worlds, counts);
  const seconds = (performance.now() - startedAtMs) / 1_000;
  const heapAfterMb = await heapMb();
  for (const world of worlds) await world.close();
  const left = await leftSince(before);

  const grownMb = heapAfterMb - heapBeforeMb;
  const isIdle = Object.entries(counts).some(([deed, count]) => deed !== "refused" && count === 0);
  const problems = [
    ...(grownMb > growthMaxMb ? [`the heap has grown by more than ${growthMaxMb} MB`] : []),
    ...(left.length > 0 ? [`${left.length} resources are left: ${[...new Set(left)].join(", ")}`] : []),
    ...(isIdle ? ["a kind of operation was never carried out"] : []),
  ];
  const { using, extended, tried, waited, gaveUp, refused } = counts;
  const sum = using + extended + tried + waited + gaveUp + refused;
  const mb = (value: number): string => `${value.toFixed(1)} MB`;
  const lines = [
    `over        ${worlds.map(({ name }) => name).join(", ")}`,
    `operations  ${sum.toLocaleString("en")} in ${seconds.toFixed(0)} s, after a warm-up`,
    `            ${using} using, ${extended} extended, ${tried} tried, ${waited} waited, ${gaveUp} aborted, ${refused} refused`,
    `heap        ${mb(heapBeforeMb)} after the warm-up, ${mb(heapAfterMb)} at the end (at most ${growthMaxMb} MB more)`,
    `left open   ${left.length}`,
  ];
  return { lines, problems };
}

async function workFor(ms: number, where: readonly World[], done: Counts): Promise<void> {
  const endMs = performance.now() + ms;
  await work(where, done, () => performance.now() > endMs);
}
