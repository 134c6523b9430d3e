/**
 * A process of contenders that all use one library. Its parent sends it a {@link Job}; it answers "ready", waits until it
 * is told to go, and sends what each of its contenders came to.
 */
import { once } from "node:events";
import { libraries } from "../libraries/index.ts";
import { none } from "../libraries/none.ts";
import { contend, type Task } from "./contend.ts";
import { connectStore } from "./store.ts";

export interface Job extends Task {
  /** The name of the library. */
  readonly library: string;
  /** How many contenders, each with connections of its own. */
  readonly clients: number;
  /** The servers that hold the locks. */
  readonly ports: readonly number[];
  /** The server that holds what they protect. */
  readonly storePort: number;
}

const [job] = (await once(process, "message")) as [Job];
const library = [...libraries, none].find(({ name }) => name === job.library);
if (library === undefined) throw new Error(`there is no ${job.library}`);
const store = connectStore(job.storePort);
const lockers = await Promise.all(Array.from({ length: job.clients }, () => library.connect(job.ports)));
process.send?.("ready");
await once(process, "message");
const task: Task = { ...job, locksSeveral: library.locksSeveral };
process.send?.(await Promise.all(lockers.map((locker) => contend(locker, store, task))));

for (const locker of lockers) locker.close();
store.close();
process.disconnect();
