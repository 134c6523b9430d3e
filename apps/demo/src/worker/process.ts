/** One worker in a process of its own: does what its parent tells it over IPC. */
import { Redlock } from "@holdfast/core";
import { createCleanup } from "@holdfast/testkit/cleanup";
import { clientKit } from "../clients/client-library.ts";
import { redisDatabase } from "../database/redis-database.ts";
import { createFeed } from "../feed.ts";
import { metricsOf } from "../metrics/metrics.ts";
import type { Resource } from "../setup.ts";
import { contend } from "./contend.ts";
import { lockerOf, noLock } from "./locker.ts";
import type { FromWorker, ToWorker, WorkerOrder } from "./messages.ts";
import { oversleep } from "./oversleep.ts";

const order = JSON.parse(process.argv[2] ?? "") as WorkerOrder;
const { worker, role, setup } = order;
const cleanup = createCleanup();
const stop = new AbortController();
/** Resolves when the latest message, and so all before it, has been handed over. */
let allTold: Promise<void> = Promise.resolve();

process.on("SIGINT", () => {}); // Ctrl-C reaches the whole group: the parent sees to an orderly end
process.on("disconnect", () => process.exit()); // without a parent there is nothing left to do

const feed = createFeed();
feed.subscribe((event) => tell({ kind: "event", event }));

try {
  const kit = await clientKit(order.library, cleanup);
  const nodes = await Promise.all(order.nodes.map(({ name, url }) => kit.connectNode(name, url)));
  const database = redisDatabase(await kit.connectDatabase(order.databaseUrl));
  const metrics = await metricsOf(setup, cleanup);
  const { ttlMs, nodeTimeoutMs } = setup;
  const redlock = new Redlock(nodes, { ttlMs, nodeTimeoutMs, observer: metrics?.observer });
  const locker = setup.locked ? lockerOf(redlock) : noLock;
  const place = { worker, locker, database, emit: feed.emit, stop: stop.signal };
  const stopped = told("stop").then(() => stop.abort());
  const started = told("start");
  tell({ kind: "ready", metricsUrl: metrics?.url });
  await Promise.race([started, stopped]);

  if (role === "contender") {
    await contend(place, setup);
  } else if (!stop.signal.aborted) {
    const resource = setup.resources.find(({ name }) => name === setup.sleeperResource) as Resource;
    await oversleep(place, resource, () => {
      const toldToWrite = told("write");
      tell({ kind: "about-to-write" });
      return toldToWrite;
    });
  }
  feed.emit({ kind: "worker-finished", worker });
} catch (error) {
  feed.emit({ kind: "worker-failed", worker, message: String(error) });
}
await cleanup.run();
await allTold;
process.disconnect();

function tell(message: FromWorker): void {
  allTold = new Promise((resolve) => process.send?.(message, undefined, undefined, () => resolve()));
}

/** Resolves when the parent says so. */
function told(word: ToWorker): Promise<void> {
  return new Promise((resolve) => {
    process.on("message", (message) => {
      if (message === word) resolve();
    });
  });
}
