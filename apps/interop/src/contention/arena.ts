import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { startRedisServer } from "@holdfast/testkit";
import type { Library } from "../libraries/library.ts";
import { type Counts, noCounts } from "./contend.ts";
import type { Job } from "./contender.ts";
import { connectStore } from "./store.ts";

/** What contends, and for how long. */
export interface Contest {
  readonly libraries: readonly Library[];
  /** How many servers hold the locks. */
  readonly servers: number;
  /** How many processes each library has, and how many clients each of them. */
  readonly processes: number;
  readonly clients: number;
  /** How many locks each client is to hold, one after another. */
  readonly locks: number;
  /** When to give up, in milliseconds. */
  readonly limitMs: number;
}

/** How a contest ended. */
export interface Result {
  readonly byLibrary: readonly (Counts & { readonly library: string })[];
  /** Increments that were made and are not in the numbers at the end. */
  readonly lostUpdates: number;
}

/** Few, so that there are conflicts; and such that all libraries can have them. */
const keys = ["mutex:number-1", "mutex:number-2", "mutex:number-3"];

const program = fileURLToPath(new URL("./contender.ts", import.meta.url));
const execArgv = ["--conditions=@holdfast/source", "--import", "tsx"];

/** Lets processes of all libraries contend for the same few keys. */
export async function holdContest({
  libraries,
  processes,
  clients,
  locks,
  limitMs,
  servers,
}: Contest): Promise<Result> {
  const [storage, ...holders] = await Promise.all(Array.from({ length: servers + 1 }, () => startRedisServer()));
  const { port: storePort, stop } = storage as NonNullable<typeof storage>;
  const ports = holders.map(({ port }) => port);
  const base = { keys, locks, limitMs, clients, ports, storePort, locksSeveral: true };
  const jobs: Job[] = libraries.flatMap(({ name }) =>
    Array.from({ length: processes }, () => ({ ...base, library: name })),
  );
  const children = jobs.map(() => fork(program, { execArgv, timeout: 2 * limitMs }));
  try {
    await Promise.all(children.map((child, index) => ask(child, jobs[index] as Job)));
    const counts = (await Promise.all(children.map((child) => ask(child, "go")))) as Counts[][];
    const byLibrary = libraries.map(({ name }) => ({
      library: name,
      ...sum(counts.filter((_, index) => jobs[index]?.library === name).flat()),
    }));
    return { byLibrary, lostUpdates: sum(counts.flat()).increments - (await numbers(storePort)) };
  } finally {
    for (const child of children) child.kill();
    await Promise.all([stop(), ...holders.map((server) => server.stop())]);
  }
}

/** Sends a message to a process, and answers with its next one; rejects if it ends instead. */
function ask(child: ChildProcess, message: Job | "go"): Promise<unknown> {
  return new Promise((resolve, reject) => {
    child.once("message", resolve);
    child.once("exit", () => reject(new Error("a process of contenders ended early")));
    child.send(message);
  });
}

async function numbers(storePort: number): Promise<number> {
  const store = connectStore(storePort);
  const found = await Promise.all(keys.map((key) => store.read(key)));
  store.close();
  return found.reduce((total, number) => total + number, 0);
}

/** Adds up. */
export function sum(all: readonly Counts[]): Counts {
  const total = { ...noCounts };
  for (const counts of all) {
    for (const name of Object.keys(noCounts) as (keyof Counts)[]) total[name] += counts[name];
  }
  return total;
}
