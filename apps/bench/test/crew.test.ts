import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { contenderNamed } from "../src/contenders/index.ts";
import { type Crew, createCrew } from "../src/crew.ts";

const contender = contenderNamed("raw ioredis");
const other = contenderNamed("bare socket");
const patienceMs = 30_000;

/** A crew whose processes answer `releaseOne` with their id, hang at `close`, and end at `open`. */
function crewOf(sizeMax: number): Crew {
  const crew = createCrew(fileURLToPath(new URL("./fixtures/moody.mjs", import.meta.url)), sizeMax);
  onTestFinished(() => crew.close());
  return crew;
}

test("Worker.call() answers what the process answers", async () => {
  const worker = crewOf(2).worker(contender, 0);
  expect(await worker.call("releaseOne", undefined, patienceMs)).toBeGreaterThan(0);
});

test("Worker.call() ends a process that takes too long, and says so", async () => {
  const worker = crewOf(2).worker(contender, 0);
  await worker.call("releaseOne", undefined, patienceMs);
  await expect(worker.call("close", undefined, 50)).rejects.toThrow('hung: no end of "close" within 0.05 s');
  expect(worker.isAlive).toBe(false);
});

test("Worker.call() tells how a process ended that was asked", async () => {
  const worker = crewOf(2).worker(contender, 0);
  const opening = worker.call("open", { contender: "", ports: [], isPatient: false }, patienceMs);
  await expect(opening).rejects.toThrow("the process ended: RangeError: out of sorts");
  await expect(worker.call("close", undefined, patienceMs)).rejects.toThrow("the process has ended");
});

test("Crew.worker() keeps processes as long as there is room, and starts another one when one has ended", async () => {
  const crew = crewOf(2);
  const idOf = (who: typeof contender, number: number): Promise<number> =>
    crew.worker(who, number).call("releaseOne", undefined, patienceMs);
  const first = await idOf(contender, 0);
  await idOf(other, 0);
  expect(await idOf(contender, 0)).toBe(first);
  const oldest = crew.worker(other, 0);
  crew.worker(contender, 0);
  await idOf(contender, 1);
  expect(oldest.isAlive).toBe(false);
  crew.worker(contender, 0).kill();
  expect(await idOf(contender, 0)).not.toBe(first);
});
