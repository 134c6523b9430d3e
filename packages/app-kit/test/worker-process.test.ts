import { fileURLToPath } from "node:url";
import { runProgram } from "@holdfast/testkit";
import { bundleProgram } from "@holdfast/testkit/bundle-program";
import { expect, onTestFinished, test } from "vitest";
import { startWorkerProcess, type WorkerProcess } from "../src/worker-process.ts";

const program = await bundleProgram(new URL("./fixtures/worker.ts", import.meta.url));
const limitMs = 30_000;

interface Served {
  add(a: number, b: number): number;
  askParent(number: number): number;
  hang(): void;
  reject(): void;
  crash(): void;
  leave(): void;
}

function start(events: object = {}): WorkerProcess<Served> {
  const worker = startWorkerProcess<Served>(program, { name: "w1", events });
  onTestFinished(() => worker.stop());
  return worker;
}

/** The state letter of a process in `/proc`: T is stopped. */
async function stateOf(pid: number): Promise<string | undefined> {
  const { readFile } = await import("node:fs/promises");
  return /\) (\w)/.exec(await readFile(`/proc/${pid}/stat`, "utf8"))?.[1];
}

test("call() resolves with the result of a function, infinities included", async () => {
  const worker = start();
  expect(await worker.call("add", limitMs, 1, 2)).toBe(3);
  expect(await worker.call("add", limitMs, 1, Number.POSITIVE_INFINITY)).toBe(Number.POSITIVE_INFINITY);
});

test("call() rejects with the error of the function, and the worker lives on", async () => {
  const worker = start();
  await expect(worker.call("reject", limitMs)).rejects.toThrow("out of range");
  expect(await worker.call("add", limitMs, 1, 2)).toBe(3);
});

test("call() rejects and kills the process after its time limit", async () => {
  const worker = start();
  await worker.call("add", limitMs, 1, 2);
  await expect(worker.call("hang", 50)).rejects.toThrow("w1 hung: hang() did not end within 0.05 s");
  expect(worker.isAlive).toBe(false);
  expect(await worker.ended).toBeNull();
});

test("call() names the worker, and says how it ended", async () => {
  const worker = start();
  const hanging = worker.call("hang", limitMs);
  await worker.call("crash", limitMs).catch(() => {});
  const message = "the process of w1 ended with exit code 1: TypeError: out of order";
  await expect(hanging).rejects.toThrow(message);
  await expect(worker.call("add", limitMs, 1, 2)).rejects.toThrow(message);
  expect(worker.endError?.message).toBe(message);
});

test("a worker calls functions of its parent, and leaves when all messages have arrived", async () => {
  const told: string[] = [];
  const worker = start({ tell: (text: string) => told.push(text), double: (number: number) => 2 * number });
  expect(await worker.call("askParent", limitMs, 21)).toBe(42);
  await worker.call("leave", limitMs);
  expect(await worker.ended).toBe(0);
  expect(told).toEqual(["last words"]);
});

test("pause() stops the process, and resume() lets it reply", async () => {
  const worker = start();
  await worker.call("add", limitMs, 1, 2);
  worker.pause();
  await expect.poll(() => stateOf(worker.pid)).toBe("T");
  const sum = worker.call("add", limitMs, 2, 3);
  worker.resume();
  expect(await sum).toBe(5);
});

test("a stopped worker ends when its parent is killed", async () => {
  const parent = fileURLToPath(new URL("./fixtures/abandon.ts", import.meta.url));
  const { code, out } = await runProgram(parent, [], { cwd: fileURLToPath(new URL("..", import.meta.url)) });
  expect({ code, pid: Number(out) }).toEqual({ code: null, pid: expect.any(Number) }); // runProgram() finds what is left
});
