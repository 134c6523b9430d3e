/** A worker in a process of its own, which is killed at the end. */
import { type ClientLibrary, connectIoredis } from "@holdfast/app-kit/clients";
import { connectNodes } from "@holdfast/app-kit/nodes";
import { serveParent } from "@holdfast/app-kit/worker";
import type { Redis } from "ioredis";
import { redisDatabase } from "./database.ts";
import { nodeNames, type Setup } from "./options.ts";
import type { Visit } from "./run.ts";
import { createWorker, usingOf, type Worker } from "./worker.ts";

let worker: Worker;

const functions = {
  /** Connects to the servers. */
  async open(name: string, library: ClientLibrary, urls: readonly string[], databasePort: number, setup: Setup) {
    const { nodes } = await connectNodes(library, urls, { names: nodeNames, reconnectMs: 200 });
    const [client] = await connectIoredis([databasePort]);
    const using = usingOf(setup, nodes);
    const tell = (visit: Visit): void => parent.emit("tell", visit);
    const database = redisDatabase(client as Redis);
    worker = createWorker({ worker: name, using, database, tell }, setup.redlock.ttlMs);
  },
  contend: () => worker.contend(),
  approachWrite: () => worker.approachWrite(),
  write: () => worker.write(),
  finish: () => worker.finish(),
};

/** The functions that the parent calls. */
export type WorkerFunctions = typeof functions;

const parent = serveParent<{ tell(visit: Visit): void }>(functions);
