import { fileURLToPath } from "node:url";
import { type ClientLibrary, connectIoredis } from "@holdfast/app-kit/clients";
import { connectNodes } from "@holdfast/app-kit/nodes";
import { startWorkerProcess, type WorkerProcess } from "@holdfast/app-kit/worker-process";
import { Redlock } from "@holdfast/core";
import { type RedisServer, startRedisServer } from "@holdfast/testkit";
import type { Cleanup } from "@holdfast/testkit/cleanup";
import { redisDatabase } from "../database/redis-database.ts";
import type { DemoEvent } from "../events.ts";
import type { Feed } from "../feed.ts";
import type { Setup } from "../setup.ts";
import type { WorkerFunctions, WorkerOrder } from "../worker/process.ts";
import type { World } from "./world.ts";

const program = fileURLToPath(new URL("../worker/process.ts", import.meta.url));
const startTimeoutMs = 60_000;
/** How long workers have to finish before they are killed. */
const finishTimeoutMs = 5_000;

/** Starts five real servers as nodes, a sixth as the database, and each worker in a process of its own. */
export async function redisWorld(setup: Setup, feed: Feed, cleanup: Cleanup): Promise<World> {
  const { ttlMs, nodeTimeoutMs, nodes: names } = setup;
  const start = async (appendonly: boolean): Promise<RedisServer> => {
    const server = await startRedisServer({ appendonly });
    cleanup.defer(() => server.stop());
    return server;
  };
  // The servers write to disk before they answer, so that a node that comes back has forgotten nothing.
  const [databaseServer, ...servers] = await Promise.all([start(false), ...names.map(() => start(true))]);
  const urls = servers.map(({ url }) => url);
  const serverOf = (node: string): RedisServer => servers[names.indexOf(node)] as RedisServer;

  const startWorker = (worker: string, library: ClientLibrary) =>
    openWorker(worker, { worker, library, setup, urls, databaseUrl: databaseServer.url }, feed, cleanup);
  // The two client libraries take the same locks.
  const [sleeper, ...contenders] = await Promise.all([
    startWorker(setup.sleeper, "ioredis"),
    ...setup.workers.map((worker, index) => startWorker(worker, index % 2 === 0 ? "ioredis" : "node-redis")),
  ]);
  const { nodes, close } = await connectNodes("ioredis", urls, { names, reconnectMs: 200 });
  cleanup.defer(close);
  const [client] = await connectIoredis([databaseServer.url]);
  cleanup.defer(() => client?.disconnect());
  const workers = [...contenders, sleeper].map(({ process }) => process);

  const runLimitMs = setup.seconds * 1_000 + startTimeoutMs;
  return {
    redlock: new Redlock(nodes, { ttlMs, nodeTimeoutMs }),
    database: redisDatabase(async ([command = "", ...args]) => client?.call(command, ...args)),
    nodeMemory: "kept",
    metricsUrls: contenders.flatMap(({ metricsUrl }) => metricsUrl ?? []),
    start() {
      // A worker that fails says so by an event, and one that crashes by its end.
      for (const { process } of contenders) process.call("contend", runLimitMs).catch(() => {});
    },
    kill: (node) => serverOf(node).kill(),
    restart: (node) => serverOf(node).restart(),
    async pauseSleeper() {
      await sleeper.process.call("approachWrite", runLimitMs);
      sleeper.process.pause();
    },
    async resumeSleeper() {
      const written = sleeper.process.call("write", runLimitMs); // the message waits until the process runs again
      sleeper.process.resume();
      await written;
    },
    async finish() {
      await Promise.allSettled(workers.map((worker) => worker.call("finish", finishTimeoutMs)));
    },
  };
}

interface OpenWorker {
  readonly process: WorkerProcess<WorkerFunctions>;
  readonly metricsUrl: string | undefined;
}

/** Starts a worker process, whose events go to the feed, and resolves when it is connected. */
async function openWorker(name: string, order: WorkerOrder, feed: Feed, cleanup: Cleanup): Promise<OpenWorker> {
  let hasFinished = false;
  const onEvent = (event: DemoEvent): void => {
    hasFinished ||= event.kind === "worker-finished" || event.kind === "worker-failed";
    feed.pass(event);
  };
  const process = startWorkerProcess<WorkerFunctions>(program, { name, events: { onEvent } });
  cleanup.defer(process.stop);
  void process.ended.then(() => {
    if (!hasFinished) feed.emit({ kind: "worker-failed", worker: name, message: String(process.endError?.message) });
  });
  return { process, metricsUrl: await process.call("open", startTimeoutMs, order) };
}
