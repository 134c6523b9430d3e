import { ioredisFencedStore } from "@holdfast/ioredis";
import { startRedisServer } from "@holdfast/testkit";
import { Queue, Worker } from "bullmq";
import { Redis } from "ioredis";
import { expect, onTestFinished, test } from "vitest";
import { openLocks } from "../src/locks.ts";
import { startChild } from "./child.ts";

/** Starts a Redis server for the queue and the locks, one for the data, a worker over both, and clients of them. */
async function startWorker() {
  const [server, dataServer] = [await startRedisServer(), await startRedisServer()];
  onTestFinished(() => server.stop());
  onTestFinished(() => dataServer.stop());
  const data = new Redis(dataServer.url);
  onTestFinished(() => data.disconnect());
  const locks = openLocks([server.url], { nodeTimeoutMs: 2_000 });
  onTestFinished(() => locks.close());
  const queue = new Queue("invoices", { connection: { url: server.url } });
  onTestFinished(() => queue.close());
  const anotherWorker = () => startChild("bullmq-worker", server.url, dataServer.url);
  const worker = await anotherWorker();
  const locksLeft = () => server.command("KEYS", "lock:*");
  return { server, data, store: ioredisFencedStore(data), locks, locksLeft, queue, worker, anotherWorker };
}

/** Returns the state of a job, its result, why it failed, and how often it was tried. */
async function outcomeOf(queue: Queue, id: string | undefined) {
  const job = await queue.getJob(id ?? "");
  return { state: await job?.getState(), value: job?.returnvalue, failed: job?.failedReason, tried: job?.attemptsMade };
}

test("a job waits in the queue while another client holds its lock, which is no attempt, and does not keep others", async () => {
  const { locks, queue } = await startWorker();
  const lock = await locks.redlock.acquire("invoice:42", { ttlMs: 60_000 });
  const { id } = await queue.add("close", { id: "42" });
  await expect.poll(() => outcomeOf(queue, id)).toMatchObject({ state: "delayed", tried: 0 });
  const other = await queue.add("close", { id: "43" });
  await expect.poll(() => outcomeOf(queue, other.id)).toMatchObject({ state: "completed" });
  await lock.release();
  const value = { was: "open", is: "closed" };
  await expect.poll(() => outcomeOf(queue, id)).toMatchObject({ state: "completed", value, tried: 1 });
});

test("a job fails if the store has seen a newer token, and succeeds if it is tried again after that", async () => {
  const { data, store, queue } = await startWorker();
  await store.read("invoice:42", Number.MAX_SAFE_INTEGER);
  const { id } = await queue.add("close", { id: "42" }, { attempts: 100, backoff: 100 });
  const refused = {
    tried: expect.toSatisfy((tried) => tried > 0),
    failed: expect.stringMatching(/already seen fence/),
  };
  await expect.poll(() => outcomeOf(queue, id)).toMatchObject(refused);
  await data.flushall(); // the store forgets the token
  await expect.poll(() => outcomeOf(queue, id)).toMatchObject({ state: "completed" });
});

test("a stalled job is done by another worker, and what its first worker writes later is refused", async () => {
  const { server, data, store, locks, locksLeft, queue, worker, anotherWorker } = await startWorker();
  await data.call("CLIENT", "PAUSE", "60000", "WRITE");
  const { id } = await queue.add("close", { id: "42" });
  await expect.poll(locksLeft).not.toEqual([]);
  worker.send("SIGSTOP");
  const expiring = [`bull:invoices:${id}:lock`, "bull:invoices:stalled-check", "lock:invoice:42"];
  await server.command("DEL", ...expiring); // as after their ttls
  await data.call("CLIENT", "UNPAUSE");
  const checker = new Worker("invoices", null, { connection: { url: server.url }, stalledInterval: 50 });
  onTestFinished(() => checker.close());
  await checker.startStalledCheckTimer();
  await expect.poll(() => outcomeOf(queue, id)).toMatchObject({ state: "waiting" });
  await anotherWorker();
  const value = { was: "open", is: "closed" };
  await expect.poll(() => outcomeOf(queue, id)).toMatchObject({ state: "completed", value });

  await locks.redlock.using("invoice:42", ({ fence }) => store.write("invoice:42", "reopened", fence));
  worker.send("SIGCONT");
  worker.send("SIGTERM");
  expect(await worker.ended).toBe(0);
  expect(String(await data.hget("invoice:42", "value"))).toBe("reopened");
});

test("a worker finishes its job after a SIGTERM, and leaves no lock behind", async () => {
  const { data, locksLeft, queue, worker } = await startWorker();
  await data.call("CLIENT", "PAUSE", "60000", "WRITE");
  const { id } = await queue.add("close", { id: "42" });
  await expect.poll(locksLeft).not.toEqual([]);
  worker.send("SIGTERM");
  await worker.says(/^SIGTERM/);
  await data.call("CLIENT", "UNPAUSE");
  expect(await worker.ended).toBe(0);
  expect(await outcomeOf(queue, id)).toMatchObject({ state: "completed" });
  expect(await locksLeft()).toEqual([]);
});
