/** A worker in a process of its own. */
import { type ClientLibrary, connectIoredis, connectNodeRedis } from "@holdfast/app-kit/clients";
import { connectNodes } from "@holdfast/app-kit/nodes";
import { serveParent } from "@holdfast/app-kit/worker";
import { Redlock } from "@holdfast/core";
import { createCleanup } from "@holdfast/testkit/cleanup";
import { redisDatabase, type SendCommand } from "../database/redis-database.ts";
import type { DemoEvent } from "../events.ts";
import { createFeed } from "../feed.ts";
import { metricsOf } from "../metrics/metrics.ts";
import type { Resource, Setup } from "../setup.ts";
import { contend } from "./contend.ts";
import { lockerOf, noLock } from "./locker.ts";
import { oversleep } from "./oversleep.ts";
import type { Workplace } from "./visit.ts";

const cleanup = createCleanup();
const stop = new AbortController();
const feed = createFeed();
/** The settings of a worker. */
export interface WorkerOrder {
  readonly worker: string;
  readonly library: ClientLibrary;
  readonly urls: readonly string[];
  readonly databaseUrl: string;
  readonly setup: Setup;
}

let order: WorkerOrder;
let place: Workplace;
let working: Promise<void> = Promise.resolve();
let write = (): void => {};

const functions = {
  /** Connects to the servers. Returns where the metrics can be read, if the setup asks for them. */
  async open(given: WorkerOrder): Promise<string | undefined> {
    order = given;
    const { worker, library, urls, setup } = order;
    const { ttlMs, nodeTimeoutMs, nodes: names } = setup;
    const { nodes, close } = await connectNodes(library, urls, { names, reconnectMs: 200 });
    cleanup.defer(close);
    const metrics = await metricsOf(setup, cleanup);
    const redlock = new Redlock(nodes, { ttlMs, nodeTimeoutMs, observer: metrics?.observer });
    const locker = setup.locked ? lockerOf(redlock) : noLock;
    const database = redisDatabase(await connectDatabase(order));
    place = { worker, locker, database, emit: feed.emit, stop: stop.signal };
    return metrics?.url;
  },
  /** Visits resources until the worker is told to finish. */
  contend(): Promise<void> {
    working = reporting(() => contend(place, order.setup));
    return working;
  },
  /** Takes the fenced lock, and resolves right before the write. */
  approachWrite(): Promise<void> {
    const resource = order.setup.resources.find(({ name }) => name === order.setup.sleeperResource) as Resource;
    return new Promise((resolve) => {
      const nap = (): Promise<void> => {
        resolve();
        return new Promise((wake) => {
          write = wake;
        });
      };
      working = reporting(() => oversleep(place, resource, nap));
      void working.then(resolve);
    });
  },
  /** Writes after the pause. */
  write(): Promise<void> {
    write();
    return working;
  },
  /** Finishes the visit in progress, and ends the process. */
  async finish(): Promise<void> {
    stop.abort();
    await working;
    await cleanup.run();
    void parent.leave();
  },
};

/** The functions that the parent calls. */
export type WorkerFunctions = typeof functions;

const parent = serveParent<{ onEvent(event: DemoEvent): void }>(functions);
feed.subscribe((event) => parent.emit("onEvent", event));

async function reporting(work: () => Promise<void>): Promise<void> {
  const { worker } = order;
  try {
    await work();
    feed.emit({ kind: "worker-finished", worker });
  } catch (error) {
    feed.emit({ kind: "worker-failed", worker, message: String(error) });
  }
}

async function connectDatabase({ library, databaseUrl }: WorkerOrder): Promise<SendCommand> {
  if (library === "ioredis") {
    const [client] = await connectIoredis([databaseUrl]);
    cleanup.defer(() => client?.disconnect());
    return async ([command = "", ...args]) => client?.call(command, ...args);
  }
  const [client] = await connectNodeRedis([databaseUrl]);
  cleanup.defer(() => client?.destroy());
  return async (args) => client?.sendCommand(args);
}
