/** A BullMQ worker whose jobs lock what they change. */
import { HoldfastError } from "@holdfast/core";
import { ioredisFencedStore } from "@holdfast/ioredis";
import { DelayedError, Worker } from "bullmq";
import { Redis } from "ioredis";
import { type Closed, closeInvoice } from "./invoices.ts";
import { openLocks } from "./locks.ts";

/** With these errors, the work has not begun: the job can come later, as if it had never been tried. */
const notBegun = ["LOCK_HELD", "QUORUM_UNREACHABLE", "QUEUE_FULL"];

/** How long a job stays in the queue then, in milliseconds. */
const retryDelayMs = 1_000;

const { redlock, close } = openLocks((process.env.LOCK_SERVERS ?? "").split(","));
const data = new Redis(process.env.DATA_SERVER ?? "").on("error", console.error);
const store = ioredisFencedStore(data);

const worker = new Worker<{ id: string }, Closed>(
  "invoices",
  async (job, token) => {
    const { id } = job.data;
    try {
      // Waits in the queue, where a job keeps no worker from other jobs. Extends the lock however long the job takes.
      return await redlock.using(`invoice:${id}`, { waitTimeoutMs: 0 }, (lock) => closeInvoice(store, id, lock));
    } catch (error) {
      if (!(error instanceof HoldfastError && notBegun.includes(error.code))) throw error;
      await job.moveToDelayed(Date.now() + retryDelayMs, token); // counts as no attempt
      throw new DelayedError();
    }
  },
  { connection: { url: process.env.QUEUE_SERVER ?? "" }, concurrency: 10 },
);
worker.on("error", console.error);

process.once("SIGTERM", async () => {
  await worker.close(); // waits for the jobs in progress, which release their locks
  await close();
  data.disconnect();
});
