/** A worker in a process of its own, which is killed at the end. */
import { type ClientLibrary, connectIoredis } from "@holdfast/app-kit/clients";
import { connectNodes } from "@holdfast/app-kit/nodes";
import { serveParent } from "@holdfast/app-kit/worker";
import { createCleanup } from "@holdfast/testkit/cleanup";
import type { Redis } from "ioredis";
import { redisDatabase } from "./database.ts";
import { serveMetrics } from "./metrics.ts";
import { nodeNames, type Setup } from "./options.ts";
import type { Visit } from "./run.ts";
import { createWorker, usingOf, type Worker } from "./worker.ts";

let worker: Worker;

const functions = {
  /** Connects to the servers. Returns where the metrics can be read, if the setup asks for them. */
  async open(name: string, library: ClientLibrary, urls: readonly string[], databasePort: number, setup: Setup) {
    const { nodes } = await connectNodes(library, urls, { names: nodeNames, reconnectMs: 200 });
    const [client] = await connectIoredis([databasePort]);
    const metrics = setup.metrics ? await serveMetrics(createCleanup()) : undefined;
    const using = usingOf(setup, nodes, metrics?.observer);
    const tell = (visit: Visit): void => parent.emit("tell", visit);
    const database = redisDatabase(client as Redis);
    worker = createWorker({ worker: name, using, database, tell }, setup.redlock.ttlMs);
    return metrics?.url;
  },
  contend: () => worker.contend(),
  approachWrite: () => worker.approachWrite(),
  write: () => worker.write(),
  finish: () => worker.finish(),
};

/** The functions that the parent calls. */
export type WorkerFunctions = typeof functions;

const parent = serveParent<{ tell(visit: Visit): void }>(functions);
