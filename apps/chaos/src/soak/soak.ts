/** `pnpm chaos --soak`: locks at full speed, without faults; see README.md. */
import { setTimeout as sleep } from "node:timers/promises";
import { startWorkerProcess, type WorkerProcess } from "@holdfast/app-kit/worker-process";
import type { RedisServer } from "@holdfast/testkit";
import { bundleProgram } from "@holdfast/testkit/bundle-program";
import type { Cleanup } from "@holdfast/testkit/cleanup";
import { names } from "../names.ts";
import type { ChaosOptions } from "../options.ts";
import { startServer } from "../world/servers.ts";
import { createRecord } from "./record.ts";
import { describeClaims, tracesLeft } from "./traces.ts";
import type { SoakFunctions } from "./worker.ts";

type Worker = WorkerProcess<SoakFunctions>;

const program = new URL("./worker.ts", import.meta.url);

/** Between two drains. The locks of a round are kept until they are checked. */
const roundMsMax = 15_000;

/** How much the heap of a worker may grow from the first round to the last one: room for code that is compiled late. */
const growthMaxMb = 3;

/** How long a worker may take for anything else, such as the end of its programs, in milliseconds. */
const patienceMs = 60_000;

/** How long a closed worker may take to exit, in milliseconds. */
const exitMs = 5_000;

/**
 * Lets programs in two processes wait for overlapping sets of resources, prints what they did, and resolves with whether
 * nothing was violated, and nothing is left behind.
 */
export async function soak({ seconds, seed }: ChaosOptions, cleanup: Cleanup): Promise<boolean> {
  const servers = await Promise.all(names("n", 5).map(() => startServer(cleanup)));
  const urls = servers.map(({ url }) => url);
  const workers: Worker[] = [];
  for (const [index, name] of names("w", 2).entries()) {
    const worker = startWorkerProcess<SoakFunctions>(await bundleProgram(program), { name });
    cleanup.defer(worker.stop);
    workers.push(worker);
    await worker.call("open", patienceMs, { name, urls, seed: seed + index });
  }
  const problems = await work(seconds * 1_000, servers, workers);
  console.log(`seed        ${seed}`);
  console.log(problems.length === 0 ? "Nothing was violated." : problems.map((what) => `VIOLATED: ${what}`).join("\n"));
  return problems.length === 0;
}

async function work(durationMs: number, servers: readonly RedisServer[], workers: readonly Worker[]) {
  const record = createRecord();
  const heapsMb: number[][] = [];
  const rounds = Math.max(2, Math.ceil(durationMs / roundMsMax));
  const roundMs = durationMs / rounds;
  const problems: string[] = [];
  for (let round = 0; round < rounds && problems.length === 0; round++) {
    const works = await Promise.all(workers.map((worker) => worker.call("work", roundMs + patienceMs, roundMs)));
    const hang = works.flatMap((one) => one.hang);
    problems.push(...record.add(works));
    if (hang.length > 0) return [...problems, "programs hang", ...hang, ...(await describeClaims(servers))];
    problems.push(...(await tracesLeft("claims are left", servers)));
    problems.push(...(await tracesLeft("subscriptions are left", servers)));
    heapsMb.push(await Promise.all(workers.map((worker) => worker.call("heapMb", patienceMs))));
  }
  problems.push(...(await tracesLeft("keys stay", servers)));
  for (const worker of workers) problems.push(...(await closeWorker(worker)));
  problems.push(...(await tracesLeft("connections are left", servers)));
  const grownMb = workers.map((_, index) => (heapsMb.at(-1)?.[index] as number) - (heapsMb[0]?.[index] as number));
  if (Math.max(...grownMb) > growthMaxMb)
    problems.push(`the heap of a worker has grown by more than ${growthMaxMb} MB`);
  const growth = grownMb.map((mb) => `${mb.toFixed(1)} MB`).join(" and ");
  console.log(record.lines().join("\n"));
  console.log(`heap        grown by ${growth} since the first of ${rounds} rounds (at most ${growthMaxMb} MB)`);
  return [...problems, ...record.neverDone()];
}

/** Lets a worker close everything. The process must then exit on its own. */
async function closeWorker(worker: Worker): Promise<string[]> {
  const left = await worker.call("close", patienceMs);
  const code = await Promise.race([worker.ended, sleep(exitMs)]);
  return [
    ...(left.length > 0 ? [`handles are left in ${worker.name}: ${left.join(", ")}`] : []),
    ...(code === 0 ? [] : [`${worker.name} did not exit on its own`]),
  ];
}
