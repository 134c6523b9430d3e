import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { contenderNamed } from "../src/contenders/index.ts";
import { createProcessPool, type ProcessPool } from "../src/process-pool.ts";

const contender = contenderNamed("raw ioredis");
const other = contenderNamed("bare socket");
const timeoutMs = 30_000;

/** A pool whose processes reply to `releaseOne` with their id, hang at `close`, and end at `open`. */
function poolOf(sizeMax: number): ProcessPool {
  const pool = createProcessPool(fileURLToPath(new URL("./fixtures/faulty.mjs", import.meta.url)), sizeMax);
  onTestFinished(() => pool.close());
  return pool;
}

test("MeasuredProcess.call() resolves with the reply of the process", async () => {
  const measured = poolOf(2).process(contender, 0);
  expect(await measured.call("releaseOne", undefined, timeoutMs)).toBeGreaterThan(0);
});

test("MeasuredProcess.call() kills a process that takes too long, and says so", async () => {
  const measured = poolOf(2).process(contender, 0);
  await measured.call("releaseOne", undefined, timeoutMs);
  await expect(measured.call("close", undefined, 50)).rejects.toThrow('hung: "close" did not end within 0.05 s');
  expect(measured.isAlive).toBe(false);
});

test("MeasuredProcess.call() says how the process ended", async () => {
  const measured = poolOf(2).process(contender, 0);
  const opening = measured.call("open", { contender: "", ports: [], isPatient: false }, timeoutMs);
  await expect(opening).rejects.toThrow("the process ended: RangeError: out of sorts");
  await expect(measured.call("close", undefined, timeoutMs)).rejects.toThrow("the process has ended");
});

test("ProcessPool.process() keeps processes while there is room, and replaces one that has ended", async () => {
  const pool = poolOf(2);
  const idOf = (who: typeof contender, number: number): Promise<number> =>
    pool.process(who, number).call("releaseOne", undefined, timeoutMs);
  const first = await idOf(contender, 0);
  await idOf(other, 0);
  expect(await idOf(contender, 0)).toBe(first);
  const oldest = pool.process(other, 0);
  pool.process(contender, 0);
  await idOf(contender, 1);
  expect(oldest.isAlive).toBe(false);
  pool.process(contender, 0).kill();
  expect(await idOf(contender, 0)).not.toBe(first);
});
