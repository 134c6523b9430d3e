import { expect, test } from "vitest";
import { contenderNamed } from "../src/contenders/index.ts";
import type { MeasuredProcess } from "../src/process-pool.ts";
import { quick } from "../src/scale.ts";
import { prepare, type SliceContext } from "../src/workloads/workload.ts";

function processWith(opened: string[], name: string, isWarm: boolean): MeasuredProcess {
  const call = async (method: string) => void opened.push(`${method} ${name}`);
  return { isWarm, call } as Partial<MeasuredProcess> as MeasuredProcess;
}

test("prepare() connects new processes once, and lets all of them work before the first slice", async () => {
  const context = { contender: contenderNamed("raw ioredis"), scale: quick } as SliceContext;
  const happened: string[] = [];
  const work = async (durationMs: number) => void happened.push(`work ${durationMs}`);
  const processes = [processWith(happened, "one", true), processWith(happened, "two", false)];
  await prepare(context, [], processes, work);
  await prepare(context, [], processes, work);
  expect(happened).toEqual(["open two", `work ${quick.warmUpMs}`]);
});
