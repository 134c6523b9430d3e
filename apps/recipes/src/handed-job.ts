/** A BullMQ job that a web process starts and a worker finishes, under one lock that passes between them. */
import { type Lock, type Redlock, TicketSpentError } from "@holdfast/core";
import type { FencedStore } from "@holdfast/ioredis";
import type { Queue } from "bullmq";
import { type Closed, closeInvoice } from "./invoices.ts";

/** How long the lock waits for the worker, in milliseconds. A job that waits longer in the queue locks for itself. */
const withinMs = 5 * 60_000;

export interface HandedJob {
  readonly id: string;
  readonly ticket: string;
}

/** In the web process. Rejects with a `LockHeldError` from the start of a job to its end: the second request gets an answer. */
export async function startJob(redlock: Redlock, queue: Pick<Queue<HandedJob>, "add">, id: string): Promise<void> {
  const lock = await redlock.acquire(`invoice:${id}`, { waitTimeoutMs: 0 });
  const ticket = await lock.transfer({ withinMs });
  try {
    await queue.add("close", { id, ticket });
  } catch (error) {
    // No worker will release the lock, unless the job was added although there was no answer.
    await redlock.adopt(ticket).then(
      (adopted) => adopted.release(),
      () => {},
    );
    throw error;
  }
}

/** In the worker. Rejects with a `LockHeldError` if the job has lost its lock to another one: try it again later. */
export async function finishJob(redlock: Redlock, store: FencedStore, job: HandedJob): Promise<Closed> {
  await using lock = await lockOf(redlock, job);
  return await closeInvoice(store, job.id, lock);
}

async function lockOf(redlock: Redlock, { id, ticket }: HandedJob): Promise<Lock> {
  try {
    return await redlock.adopt(ticket, { autoExtend: true });
  } catch (error) {
    if (!(error instanceof TicketSpentError)) throw error;
    // The job is tried again, as its first worker has died, or it has waited for longer than the lock.
    return redlock.acquire(`invoice:${id}`, { waitTimeoutMs: 0, autoExtend: true });
  }
}
