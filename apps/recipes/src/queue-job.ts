/**
 * Starts a job from a queue at most once, however often the queue delivers it, and whichever worker dies.
 *
 * A queue that loses no job delivers some of them twice: when a worker dies, or only seems to have died, before it has
 * acknowledged the job. The start of a job is therefore recorded before the job runs, in a storage that checks tokens. The
 * record alone does not show whether a worker is still busy with the job. The lock does.
 */
import type { Redlock } from "@holdfast/core";
import { type FencedStore, StaleFenceError } from "@holdfast/ioredis";
import type { Redis } from "ioredis";

/** A Redis stream with a consumer group. */
export interface Queue {
  readonly redis: Redis;
  readonly stream: string;
  readonly group: string;
  /** The name of this worker. */
  readonly consumer: string;
  /** After how long without an acknowledgement other workers take over a job, in milliseconds. */
  readonly abandonedMs: number;
}

/** Does the job. The signal aborts when the lock is lost. Another worker then records the job as interrupted. */
export type Handler = (payload: string, signal: AbortSignal) => Promise<string>;

/**
 * - `done`, `failed`: this worker did the job, and it succeeded, or threw.
 * - `repeated`: the job had been handled before.
 * - `interrupted`: another worker started the job and did not finish it. A person must check how far it got.
 * - `elsewhere`: another worker is busy with the job, and will acknowledge it.
 */
export type Outcome = "done" | "failed" | "repeated" | "interrupted" | "elsewhere";

/** Adds a job. The producer chooses the id, so that a job that it adds again after a lost reply is still one job. */
export async function addJob(redis: Redis, stream: string, id: string, payload: string): Promise<void> {
  await redis.xadd(stream, "*", "id", id, "payload", payload);
}

/** Handles the next job: an abandoned one, or else a new one. Resolves with null if there is none. */
export async function handleNext(
  queue: Queue,
  redlock: Redlock,
  records: FencedStore,
  handler: Handler,
): Promise<Outcome | null> {
  const entry = (await takeAbandoned(queue)) ?? (await takeNew(queue));
  if (entry === undefined) return null;
  const [entryId, [, id = "", , payload = ""]] = entry;
  const outcome = await runAtMostOnce(redlock, records, id, (signal) => handler(payload, signal));
  if (outcome !== "elsewhere") await queue.redis.xack(queue.stream, queue.group, entryId);
  return outcome;
}

async function runAtMostOnce(
  redlock: Redlock,
  records: FencedStore,
  id: string,
  run: (signal: AbortSignal) => Promise<string>,
): Promise<Outcome> {
  const key = `job:${id}`;
  await using lock = await redlock.tryAcquire(key, { autoExtend: true });
  if (lock === null) return "elsewhere";
  const record = (text: string) => records.write(key, text, lock.fence);
  try {
    const { value: past } = await records.read(key, lock.fence);
    if (String(past) === "begun") {
      await record("interrupted");
      return "interrupted";
    }
    if (past !== null) return "repeated";
    await record("begun");
    const result = await run(lock.signal).then(
      (text) => ({ outcome: "done" as const, text }),
      (error) => ({ outcome: "failed" as const, text: String(error) }),
    );
    await record(`${result.outcome}: ${result.text}`);
    return result.outcome;
  } catch (error) {
    // The lock was lost meanwhile, and the next holder has recorded the outcome.
    if (error instanceof StaleFenceError) return "elsewhere";
    throw error;
  }
}

type Entry = readonly [id: string, fields: readonly string[]];

async function takeNew({ redis, stream, group, consumer }: Queue): Promise<Entry | undefined> {
  const reply = await redis.xreadgroup("GROUP", group, consumer, "COUNT", 1, "STREAMS", stream, ">");
  const [[, [entry] = []] = []] = (reply ?? []) as [stream: string, entries: Entry[]][];
  return entry;
}

async function takeAbandoned({ redis, stream, group, consumer, abandonedMs }: Queue): Promise<Entry | undefined> {
  const reply = await redis.xautoclaim(stream, group, consumer, abandonedMs, "0", "COUNT", 1);
  const [, [entry]] = reply as [next: string, entries: Entry[]];
  return entry;
}
