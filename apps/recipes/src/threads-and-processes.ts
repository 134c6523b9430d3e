/**
 * Makes processes of a cluster, and threads in each of them, exclude each other.
 *
 * Each thread opens its own locks, because a `Redlock`, its clients and its locks belong to one thread. The threads share
 * only the state of the lock servers. Callers within a thread are served first come, first served, and the threads take
 * turns. A thread can send the token of its lock, a number, to another thread, which shows it to the storage. Only the holder
 * itself knows whether it still holds the lock.
 *
 * A memory node excludes only callers in the thread that made it.
 *
 *     LOCK_SERVERS=redis://a,redis://b,redis://c DATA_SERVER=redis://d node threads-and-processes.ts
 */
import cluster from "node:cluster";
import { once } from "node:events";
import { isMainThread, threadId, Worker } from "node:worker_threads";
import { Redis } from "ioredis";
import { openLocks } from "./locks.ts";

const processes = 2;
const rounds = 25;
const { LOCK_SERVERS = "", DATA_SERVER = "" } = process.env;

/** Increments a counter that only the lock protects. */
async function work(): Promise<void> {
  const locks = openLocks(LOCK_SERVERS.split(","), { label: `process ${process.pid}, thread ${threadId}` });
  const data = new Redis(DATA_SERVER);
  for (let round = 0; round < rounds; round++) {
    await locks.redlock.using("counter", { waitTimeoutMs: 60_000 }, async () => {
      const count = Number(await data.get("counter"));
      await data.set("counter", count + 1);
    });
  }
  await data.quit();
  await locks.close();
}

if (!isMainThread) {
  await work();
} else if (cluster.isPrimary) {
  const workers = Array.from({ length: processes }, () => cluster.fork());
  const exits = await Promise.all(workers.map((worker) => once(worker, "exit")));
  const data = new Redis(DATA_SERVER);
  console.log(`${processes} processes with 2 threads each counted to ${await data.get("counter")}`);
  await data.quit();
  process.exitCode = Math.max(...exits.map(([code]) => code ?? 1));
} else {
  const thread = new Worker(new URL(import.meta.url));
  await Promise.all([work(), once(thread, "exit")]);
  cluster.worker?.disconnect();
}
