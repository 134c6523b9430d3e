import { type ClientLibrary, connectIoredis, disconnect } from "@holdfast/app-kit/clients";
import { connectNodes } from "@holdfast/app-kit/nodes";
import { startServer } from "@holdfast/app-kit/servers";
import { startWorkerProcess } from "@holdfast/app-kit/worker-process";
import { Redlock } from "@holdfast/core";
import type { RedisServer } from "@holdfast/testkit";
import { bundleProgram } from "@holdfast/testkit/bundle-program";
import type { Cleanup } from "@holdfast/testkit/cleanup";
import type { Redis } from "ioredis";
import { redisDatabase } from "./database.ts";
import { nodeNames, type Setup, sleeper } from "./options.ts";
import type { WorkerFunctions } from "./redis-worker.ts";
import type { Visit } from "./run.ts";
import type { Worker } from "./worker.ts";
import type { World } from "./world.ts";

const startTimeoutMs = 60_000;
/** How long workers have to finish before they are killed. */
const finishTimeoutMs = 5_000;

/** Starts five real servers as nodes, a sixth as the database, and each worker in a process of its own. */
export async function redisWorld(setup: Setup, tell: (visit: Visit) => void, cleanup: Cleanup): Promise<World> {
  // The servers write to disk before they answer, so that a node that comes back has forgotten nothing.
  const [store, ...servers] = await Promise.all([
    startServer(cleanup),
    ...nodeNames.map(() => startServer(cleanup, { appendonly: true })),
  ]);
  const urls = servers.map(({ url }) => url);
  const serverOf = (node: string): RedisServer => servers[nodeNames.indexOf(node)] as RedisServer;

  const program = await bundleProgram(new URL("./redis-worker.ts", import.meta.url));
  const open = async (name: string, library: ClientLibrary) => {
    const process = startWorkerProcess<WorkerFunctions>(program, { name, events: { tell } });
    cleanup.defer(process.stop);
    await process.call("open", startTimeoutMs, name, library, urls, store.port, setup);
    const runLimitMs = setup.seconds * 1_000 + startTimeoutMs;
    const worker: Worker = {
      contend: () => process.call("contend", runLimitMs),
      async approachWrite() {
        await process.call("approachWrite", runLimitMs);
        process.pause();
      },
      async write() {
        const written = process.call("write", runLimitMs); // the message waits until the process runs again
        process.resume();
        await written;
      },
      finish: () => process.call("finish", finishTimeoutMs),
    };
    return { name, worker };
  };
  // The two client libraries take the same locks.
  const names = [sleeper, ...setup.workers];
  const opening = names.map((name, index) => open(name, index % 2 === 0 ? "ioredis" : "node-redis"));
  const [paused, ...contenders] = await Promise.all(opening);
  const { nodes, close } = await connectNodes("ioredis", urls, { names: nodeNames, reconnectMs: 200 });
  cleanup.defer(close);
  const clients = await connectIoredis([store.port]);
  cleanup.defer(() => disconnect(clients));
  return {
    redlock: new Redlock(nodes, setup.redlock),
    database: redisDatabase(clients[0] as Redis),
    contenders: new Map(contenders.map(({ name, worker }) => [name, worker])),
    sleeper: (paused as { worker: Worker }).worker,
    kill: (node) => serverOf(node).kill(),
    restart: (node) => serverOf(node).restart(),
  };
}
