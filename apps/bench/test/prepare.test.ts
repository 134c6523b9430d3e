import { expect, test } from "vitest";
import { contenderNamed } from "../src/contenders/index.ts";
import type { MeasuredProcess } from "../src/process-pool.ts";
import { quick } from "../src/scale.ts";
import { prepare } from "../src/workloads/workload.ts";

function processWith(opened: string[], name: string, isWarm: boolean): MeasuredProcess {
  const call = async (method: string) => void opened.push(`${method} ${name}`);
  return { isWarm, call } as Partial<MeasuredProcess> as MeasuredProcess;
}

test("prepare() connects new processes once, and lets all of them work without a delay before the first slice", async () => {
  const context = { contender: contenderNamed("raw ioredis"), scale: quick };
  const happened: string[] = [];
  const work = async (durationMs: number) => void happened.push(`work ${durationMs}`);
  const processes = [processWith(happened, "one", true), processWith(happened, "two", false)];
  const delay = async (isOn: boolean): Promise<number> => happened.push(`delay ${isOn}`);
  const place = { addresses: [], delay };
  await prepare(context, place, processes, work);
  await prepare(context, place, processes, work);
  expect(happened).toEqual(["open two", "delay false", `work ${quick.warmUpMs}`, "delay true", "delay true"]);
});
