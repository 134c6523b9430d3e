/** A process of contenders that all use one library. */
import { serveParent } from "@holdfast/app-kit/worker";
import { libraries } from "../libraries/index.ts";
import type { Locker } from "../libraries/library.ts";
import { none } from "../libraries/none.ts";
import { type Counts, contend, type Task } from "./contend.ts";
import { connectStore } from "./store.ts";

/** What a process of contenders is to do. */
export interface Job extends Omit<Task, "locksSeveral"> {
  /** The name of the library. */
  readonly library: string;
  /** The number of contenders, each with connections of its own. */
  readonly clients: number;
  /** The servers that hold the locks. */
  readonly ports: readonly number[];
  /** The server that holds the protected numbers. */
  readonly storePort: number;
}

let contendAll: () => Promise<Counts[]>;

const functions = {
  /** Connects all contenders. */
  async open(job: Job): Promise<void> {
    const library = [...libraries, none].find(({ name }) => name === job.library);
    if (library === undefined) throw new RangeError(`there is no library ${job.library}`);
    const { locksSeveral } = library;
    const store = connectStore(job.storePort);
    const connect = (): Promise<Locker> => library.connect(job.ports);
    const lockers = await Promise.all(Array.from({ length: job.clients }, connect));
    contendAll = () => Promise.all(lockers.map((locker) => contend(locker, store, { ...job, locksSeveral })));
  },
  /** Lets them contend, and returns the counts of each. */
  contend: (): Promise<Counts[]> => contendAll(),
};

/** The functions that the parent calls. */
export type ContenderFunctions = typeof functions;

serveParent(functions);
