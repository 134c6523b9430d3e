/**
 * Processes of a cluster, and threads in each of them, that exclude each other.
 *
 * Each opens its own locks: a `Redlock`, its clients and its locks belong to one thread. What they share is what the lock
 * servers know. So the line in which callers wait is one for each thread, first come, first served, and the threads take
 * turns. Of a lock that one thread holds, only its token, a number, can be sent to another, which then shows it to the
 * storage as well; whether the lock is still held, only the holder can tell.
 *
 * A memory node excludes nobody outside of the thread that has made it.
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

/** Adds to a counter that nothing but the lock protects. */
async function work(): Promise<void> {
  const locks = await openLocks(LOCK_SERVERS.split(","), { label: `process ${process.pid}, thread ${threadId}` });
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
