import { ioredisFencedStore } from "@holdfast/ioredis";
import { Queue } from "bullmq";
import { expect, onTestFinished, test } from "vitest";
import { finishJob, type HandedJob, startJob } from "../src/handed-job.ts";
import { startChild } from "./child.ts";
import { openTestLocks, startWorld } from "./world.ts";

async function startWeb() {
  const world = await startWorld();
  const { redlock } = openTestLocks(world);
  const queue = new Queue<HandedJob>("invoices", { connection: { url: world.dataUrl } });
  onTestFinished(() => queue.close());
  const isHeld = async (id: string) => (await redlock.inspect(`invoice:${id}`)).state === "held";
  return { ...world, redlock, queue, store: ioredisFencedStore(world.data), isHeld };
}

test("a job keeps its lock from the request to the end of the work, in another process", async () => {
  const { lockUrls, dataUrl, data, redlock, queue, isHeld } = await startWeb();
  await startJob(redlock, queue, "42");
  await expect(startJob(redlock, queue, "42")).rejects.toMatchObject({ code: "LOCK_HELD" });
  expect(await isHeld("42")).toBe(true);
  await data.call("CLIENT", "PAUSE", "60000", "WRITE"); // the worker takes the job when this ends
  await startChild("handed-job-worker", lockUrls, dataUrl);
  expect(await isHeld("42")).toBe(true);
  await data.call("CLIENT", "UNPAUSE");
  await expect.poll(async () => String(await data.hget("invoice:42", "value"))).toBe("closed");
  await expect.poll(() => isHeld("42")).toBe(false);
  expect(await queue.getJobCounts()).toMatchObject({ failed: 0, waiting: 0 });
});

test("a job that is tried again locks for itself, and waits for another holder", async () => {
  const { redlock, queue, store, isHeld } = await startWeb();
  await startJob(redlock, queue, "42");
  const [job] = await queue.getWaiting();
  const handed = job?.data as HandedJob;
  expect(await finishJob(redlock, store, handed)).toEqual({ was: "open", is: "closed" });
  expect(await isHeld("42")).toBe(false);
  expect(await finishJob(redlock, store, handed)).toEqual({ was: "closed", is: "closed" });
  const other = await redlock.acquire("invoice:42");
  await expect(finishJob(redlock, store, handed)).rejects.toMatchObject({ code: "LOCK_HELD" });
  await other.release();
});

test("a request whose job cannot be added leaves no lock behind", async () => {
  const { redlock, isHeld } = await startWeb();
  const queue = { add: () => Promise.reject(new Error("the queue is full")) };
  await expect(startJob(redlock, queue, "42")).rejects.toThrow("the queue is full");
  expect(await isHeld("42")).toBe(false);
});
