/** A worker in a process of its own. */
import type { ClientLibrary } from "@holdfast/app-kit/clients";
import { connectNodes } from "@holdfast/app-kit/nodes";
import { serveParent } from "@holdfast/app-kit/worker";
import { redisCommand } from "@holdfast/testkit";
import { createCleanup } from "@holdfast/testkit/cleanup";
import { redisDatabase } from "./database.ts";
import { serveMetrics } from "./metrics.ts";
import { nodeNames, type Setup } from "./options.ts";
import type { WorkerEvent } from "./run.ts";
import { createWorker, usingOf, type Worker } from "./worker.ts";

const cleanup = createCleanup();
let worker: Worker;

const functions = {
  /** Connects to the servers. Returns where the metrics can be read, if the setup asks for them. */
  async open(name: string, library: ClientLibrary, urls: readonly string[], databasePort: number, setup: Setup) {
    const { nodes, close } = await connectNodes(library, urls, { names: nodeNames, reconnectMs: 200 });
    cleanup.defer(close);
    const metrics = setup.metrics ? await serveMetrics(cleanup) : undefined;
    const using = usingOf(setup, nodes, metrics?.observer);
    const tell = (event: WorkerEvent): void => parent.emit("tell", event);
    const database = redisDatabase((...command) => redisCommand(databasePort, command));
    worker = createWorker({ worker: name, using, database, tell }, setup.redlock.ttlMs);
    return metrics?.url;
  },
  contend: () => worker.contend(),
  approachWrite: () => worker.approachWrite(),
  write: () => worker.write(),
  /** Finishes the visit in progress, and ends the process. */
  async finish() {
    await worker.finish();
    await cleanup.run();
    void parent.leave();
  },
};

/** The functions that the parent calls. */
export type WorkerFunctions = typeof functions;

const parent = serveParent<{ tell(event: WorkerEvent): void }>(functions);
