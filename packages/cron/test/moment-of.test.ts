import { momentOf } from "@holdfast/cron";
import { startRedisServer } from "@holdfast/testkit";
import { type Job, Queue, Worker } from "bullmq";
import { CronJob } from "cron";
import { Cron } from "croner";
import { expect, onTestFinished, test } from "vitest";

test("momentOf() returns the moment of a run of croner, however late it starts", async () => {
  const moments: Date[] = [];
  const job = new Cron("0 0 1 1 *", { timezone: "Etc/UTC", paused: true }, (self: Cron) => {
    moments.push(momentOf(self));
  });
  onTestFinished(() => job.stop());
  expect(() => momentOf(job)).toThrow("job must be a running job of croner or cron");
  await job.trigger();
  expect(moments).toEqual([new Date(Date.UTC(new Date().getUTCFullYear(), 0, 1))]);
});

test.each([
  ["*/10 * * * * *", "Etc/UTC", null, "2026-03-29T12:00:10.000Z"],
  ["0 0 * * * *", "Asia/Kolkata", null, "2026-03-29T11:30:00.000Z"],
  ["0 0 9 * * *", "America/New_York", null, "2026-03-28T13:00:00.000Z"],
  ["0 0 9 * * *", null, 330, "2026-03-29T03:30:00.000Z"],
  ["0 0 9 29 2 *", "Etc/UTC", null, "2024-02-29T09:00:00.000Z"],
])("momentOf() returns the moment of a run of cron: %s in %s or %s", (cronTime, timeZone, utcOffset, moment) => {
  const job = CronJob.from({ cronTime, onTick() {}, ...(timeZone ? { timeZone } : { utcOffset }) });
  expect(() => momentOf(job)).toThrow("job must be a running job of croner or cron");
  job.lastExecution = new Date("2026-03-29T12:00:10.000Z");
  expect(momentOf(job).toISOString()).toBe(moment);
  job.lastExecution = new Date("2026-03-29T12:00:17.500Z");
  expect(momentOf(job).toISOString()).toBe(moment);
});

test("momentOf() returns the moment of a run of cron when clocks go back by half an hour", () => {
  const job = CronJob.from({ cronTime: "0 */10 * * * *", onTick() {}, timeZone: "Australia/Lord_Howe" });
  job.lastExecution = new Date("2026-04-04T15:00:00.500Z");
  expect(momentOf(job).toISOString()).toBe("2026-04-04T15:00:00.000Z");
});

test("momentOf() returns the moment of a job that a scheduler of BullMQ has made", async () => {
  const server = await startRedisServer();
  const connection = { url: server.url, maxRetriesPerRequest: null };
  const queue = new Queue("reports", { connection });
  const job = await new Promise<Job>((resolve) => {
    const worker = new Worker("reports", async (each) => resolve(each), { connection });
    onTestFinished(async () => {
      await worker.close();
      await queue.close();
      await server.stop();
    });
    void queue.upsertJobScheduler("tick", { pattern: "* * * * * *" });
  });
  expect(job.id).toBe(`repeat:tick:${momentOf(job).getTime()}`);
  expect(momentOf(job).getTime() % 1_000).toBe(0);
  const other = await queue.add("other", {});
  expect(() => momentOf(other)).toThrow("job must be a running job of croner or cron");
});
