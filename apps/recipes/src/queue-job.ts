/**
 * A job from a queue is begun at most once, however often the queue delivers it and whoever dies on the way.
 *
 * A queue that forgets no job delivers some of them twice: when a worker dies before it has acknowledged one, or is only
 * thought to have died. That a job was begun is therefore recorded before it is, in a storage that checks tokens. The
 * record alone does not say whether its worker is still at it. The lock does.
 */
import type { Redlock } from "@holdfast/core";
import type { Redis } from "ioredis";
import { type FencedValues, StaleFenceError } from "./fenced-values.ts";

/** A Redis stream with a consumer group. */
export interface Queue {
  readonly redis: Redis;
  readonly stream: string;
  readonly group: string;
  /** The name of this worker. */
  readonly consumer: string;
  /** How long a job must have gone unacknowledged for others to look at it, in milliseconds. */
  readonly abandonedMs: number;
}

/** Does the job. The signal aborts when the lock is lost: another worker will then take the job for interrupted. */
export type Handler = (payload: string, signal: AbortSignal) => Promise<string>;

/**
 * - `done`, `failed`: this worker did it, and it went well, or threw.
 * - `repeated`: it had been dealt with before.
 * - `interrupted`: whoever began it has not ended it. Nobody knows how far it has come, so it is left to people.
 * - `elsewhere`: another worker is at it, and will acknowledge it.
 */
export type Outcome = "done" | "failed" | "repeated" | "interrupted" | "elsewhere";

/** Adds a job. The id is the producer's own, so that a job that is added twice for lack of an answer is still one job. */
export async function addJob(redis: Redis, stream: string, id: string, payload: string): Promise<void> {
  await redis.xadd(stream, "*", "id", id, "payload", payload);
}

/** Deals with the next job: one that was abandoned, or else a new one. Null when there is none. */
export async function handleNext(
  queue: Queue,
  redlock: Redlock,
  records: FencedValues,
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
  records: FencedValues,
  id: string,
  run: (signal: AbortSignal) => Promise<string>,
): Promise<Outcome> {
  const key = `job:${id}`;
  await using lock = await redlock.tryAcquire(key, { autoExtend: true });
  if (lock === null) return "elsewhere";
  const record = (text: string) => records.write({ [key]: text }, lock.fence);
  try {
    const [past] = await records.read([key], lock.fence);
    if (past === "begun") {
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
    // The lock was lost on the way, and the next holder has decided what became of the job.
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
