import { ioredisFencedStore } from "@holdfast/ioredis";
import { expect, test, vi } from "vitest";
import { addJob, type Handler, handleNext, type Queue } from "../src/queue-job.ts";
import { startChild } from "./child.ts";
import { openTestLocks, startWorld, type World } from "./world.ts";

const jobs = Array.from({ length: 20 }, (_, index) => `job-${index}`);

async function newQueue({ data }: World): Promise<Queue> {
  await data.xgroup("CREATE", "jobs", "workers", "0", "MKSTREAM");
  return { redis: data, stream: "jobs", group: "workers", consumer: "test", abandonedMs: 0 };
}

test("handleNext() starts no job twice in three processes, one of which is killed during a job", async () => {
  const world = await startWorld();
  const { data, lockUrls, dataUrl } = world;
  await newQueue(world);
  const doomed = await startChild("queue-worker", lockUrls, dataUrl, "doomed");
  await addJob(data, "jobs", "hang", "hang");
  await doomed.says(/^hangs$/);
  const workers = await Promise.all(["one", "two"].map((name) => startChild("queue-worker", lockUrls, dataUrl, name)));
  await Promise.all(workers.map((worker) => worker.says(/^ready$/)));
  for (const id of [...jobs, ...jobs]) await addJob(data, "jobs", id, id); // each of them twice
  doomed.send("SIGKILL");

  await expect.poll(() => data.hget("job:hang", "value")).toBe("interrupted");
  for (const id of jobs) {
    await expect.poll(() => data.hget(`job:${id}`, "value")).toMatch(new RegExp(`^done: ${id} by (one|two)$`));
  }
  const groups = async () => JSON.stringify(await data.xinfo("GROUPS", "jobs"));
  await expect.poll(groups).toMatch(/"pending",0,.*"lag",0/);
  expect(await data.mget(...["hang", ...jobs].map((id) => `runs:${id}`))).toEqual(["1", ...jobs.map(() => "1")]);
});

test("handleNext() distinguishes a job in progress from an abandoned one, and records the outcome", async () => {
  const world = await startWorld();
  const queue = await newQueue(world);
  const records = ioredisFencedStore(world.data);
  const [{ redlock }, { redlock: other }] = [openTestLocks(world), openTestLocks(world)];
  const never = vi.fn();
  const next = (handler: Handler = never) => handleNext(queue, other, records, handler);
  expect(await next()).toBeNull();

  await addJob(world.data, "jobs", "fails", "…");
  expect(await next(vi.fn(() => Promise.reject(new Error("no such printer"))))).toBe("failed");
  expect(await world.data.hget("job:fails", "value")).toBe("failed: Error: no such printer");

  await addJob(world.data, "jobs", "slow", "…");
  const slow = await new Promise<{ readonly finish: () => void; readonly outcome: Promise<unknown> }>((resolve) => {
    const outcome: Promise<unknown> = handleNext(queue, redlock, records, () => {
      return new Promise((finish) => resolve({ finish: () => finish("at last"), outcome }));
    });
  });
  expect(await next()).toBe("elsewhere");
  slow.finish();
  expect(await slow.outcome).toBe("done");
  expect(await next()).toBeNull();
  await addJob(world.data, "jobs", "slow", "…");
  expect(await next()).toBe("repeated");
  expect(never).not.toHaveBeenCalled();
});
