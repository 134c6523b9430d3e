import { startServer } from "@holdfast/app-kit/servers";
import { startWorkerProcess } from "@holdfast/app-kit/worker-process";
import { bundleProgram } from "@holdfast/testkit/bundle-program";
import { createCleanup } from "@holdfast/testkit/cleanup";
import type { Library } from "../libraries/library.ts";
import { type Counts, noCounts } from "./contend.ts";
import type { ContenderFunctions } from "./contender.ts";
import { connectStore } from "./store.ts";

/** The parameters of a contest. */
export interface Contest {
  readonly libraries: readonly Library[];
  /** The number of servers that hold the locks. */
  readonly servers: number;
  /** The number of processes of each library, and of clients in each process. */
  readonly processes: number;
  readonly clients: number;
  /** The number of locks that each client holds, one after another. */
  readonly locks: number;
  /** The time limit, in milliseconds. */
  readonly limitMs: number;
}

/** How a contest ended. */
export interface Result {
  readonly byLibrary: readonly (Counts & { readonly library: string })[];
  /** Increments that are missing in the numbers at the end. */
  readonly lostUpdates: number;
}

/** Few keys, so that there are conflicts, with the prefix that redis-semaphore requires. */
const keys = ["mutex:number-1", "mutex:number-2", "mutex:number-3"];

const program = new URL("./contender.ts", import.meta.url);

const startTimeoutMs = 60_000;

/** Lets processes of all libraries contend for the same few keys. */
export async function holdContest({
  libraries,
  processes,
  clients,
  locks,
  limitMs,
  servers,
}: Contest): Promise<Result> {
  const cleanup = createCleanup();
  try {
    const { port: storePort } = await startServer(cleanup);
    const holders = await Promise.all(Array.from({ length: servers }, () => startServer(cleanup)));
    const job = { keys, locks, limitMs, clients, ports: holders.map(({ port }) => port), storePort };
    const bundle = await bundleProgram(program);
    const contenders = libraries.flatMap(({ name }) =>
      Array.from({ length: processes }, () => startWorkerProcess<ContenderFunctions>(bundle, { name })),
    );
    for (const { stop } of contenders) cleanup.defer(stop);
    await Promise.all(contenders.map((one) => one.call("open", startTimeoutMs, { ...job, library: one.name })));
    const counts = await Promise.all(contenders.map((one) => one.call("contend", 2 * limitMs)));
    const byLibrary = libraries.map(({ name }) => ({
      library: name,
      ...sum(counts.filter((_, index) => contenders[index]?.name === name).flat()),
    }));
    return { byLibrary, lostUpdates: sum(counts.flat()).increments - (await numbers(storePort)) };
  } finally {
    await cleanup.run();
  }
}

async function numbers(storePort: number): Promise<number> {
  const store = connectStore(storePort);
  const found = await Promise.all(keys.map((key) => store.read(key)));
  store.close();
  return found.reduce((total, number) => total + number, 0);
}

/** Adds up the counts. */
export function sum(all: readonly Counts[]): Counts {
  const total = { ...noCounts };
  for (const counts of all) {
    for (const name of Object.keys(noCounts) as (keyof Counts)[]) total[name] += counts[name];
  }
  return total;
}
