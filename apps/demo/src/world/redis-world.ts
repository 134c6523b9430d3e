import { setTimeout as sleep } from "node:timers/promises";
import { Redlock } from "@holdfast/core";
import { type RedisServer, startRedisServer } from "@holdfast/testkit";
import type { Cleanup } from "@holdfast/testkit/cleanup";
import { type ClientLibrary, clientKit } from "../clients/client-library.ts";
import { redisDatabase } from "../database/redis-database.ts";
import type { Feed } from "../feed.ts";
import type { Setup } from "../setup.ts";
import type { WorkerOrder } from "../worker/messages.ts";
import { startWorkerChild, type WorkerChild } from "./worker-child.ts";
import type { World } from "./world.ts";

/** How long workers have to finish before they are given up. */
const finishTimeoutMs = 5_000;

/** Five real servers as nodes, a sixth as the database, and each worker in a process of its own. */
export async function redisWorld(setup: Setup, feed: Feed, cleanup: Cleanup): Promise<World> {
  const { ttlMs, nodeTimeoutMs, nodes: names } = setup;
  const start = async (appendonly: boolean): Promise<RedisServer> => {
    const server = await startRedisServer({ appendonly });
    cleanup.defer(() => server.stop());
    return server;
  };
  // With every write on disk before it is answered, a node that comes back has forgotten nothing.
  const [databaseServer, ...servers] = await Promise.all([start(false), ...names.map(() => start(true))]);
  const nodes = servers.map(({ url }, index) => ({ name: names[index] as string, url }));
  const serverOf = (node: string): RedisServer => servers[names.indexOf(node)] as RedisServer;

  const { contenders, sleeper } = startWorkers(setup, { nodes, databaseUrl: databaseServer.url }, feed, cleanup);
  const kit = await clientKit("ioredis", cleanup);
  const lockNodes = await Promise.all(nodes.map(({ name, url }) => kit.connectNode(name, url)));
  const redlock = new Redlock(lockNodes, { ttlMs, nodeTimeoutMs });
  const database = redisDatabase(await kit.connectDatabase(databaseServer.url));
  await sleeper.ready;
  const readyContenders = await Promise.all(contenders.map(({ ready }) => ready));

  return {
    redlock,
    database,
    nodeMemory: "kept",
    metricsUrls: readyContenders.flatMap(({ metricsUrl }) => metricsUrl ?? []),
    start() {
      for (const contender of contenders) contender.tell("start");
    },
    kill: (node) => serverOf(node).kill(),
    restart: (node) => serverOf(node).restart(),
    async pauseSleeper() {
      sleeper.tell("start");
      await sleeper.aboutToWrite;
      sleeper.pause();
    },
    async resumeSleeper() {
      sleeper.tell("write"); // lies in the pipe until it runs again
      sleeper.resume();
      await sleeper.ended;
    },
    async finish() {
      for (const worker of [...contenders, sleeper]) worker.tell("stop");
      const allEnded = Promise.all([...contenders, sleeper].map(({ ended }) => ended));
      await Promise.race([allEnded, sleep(finishTimeoutMs, undefined, { ref: false })]);
    },
  };
}

/** Half of the workers use one client library, half the other: the locks are the same. */
function startWorkers(
  setup: Setup,
  servers: Pick<WorkerOrder, "nodes" | "databaseUrl">,
  feed: Feed,
  cleanup: Cleanup,
): { readonly contenders: readonly WorkerChild[]; readonly sleeper: WorkerChild } {
  const start = (worker: string, role: WorkerOrder["role"], library: ClientLibrary): WorkerChild =>
    startWorkerChild({ worker, role, library, setup, ...servers }, feed, cleanup);
  return {
    contenders: setup.workers.map((worker, index) => start(worker, "contender", libraryOf(index))),
    sleeper: start(setup.sleeper, "sleeper", "ioredis"),
  };
}

function libraryOf(index: number): ClientLibrary {
  return index % 2 === 0 ? "ioredis" : "node-redis";
}
