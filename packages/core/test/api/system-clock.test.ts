import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { Worker } from "node:worker_threads";
import { Redlock, systemClock } from "@holdfast/core";
import { memoryNode } from "@holdfast/memory";
import { expect, it, onTestFinished, vi } from "vitest";

it("systemClock.startTimer() calls back once, and not after it was cancelled", async () => {
  const calls: string[] = [];
  await new Promise<void>((resolve) => {
    systemClock.startTimer(1, () => calls.push("cancelled"))();
    systemClock.startTimer(1, () => calls.push("background"), { background: true });
    systemClock.startTimer(5, resolve);
  });
  expect(calls).toEqual(["background"]);
});

it("systemClock.startTimer() does not fire early when the delay exceeds the maximum of a timer", async () => {
  let fired = false;
  const cancel = systemClock.startTimer(2 ** 40, () => {
    fired = true;
  });
  await new Promise((resolve) => setTimeout(resolve, 5));
  expect(fired).toBe(false);
  cancel();
});

/** Connects to the port, sends a byte on a message, and raises the flag once the byte has left. */
const peer = `
  const { workerData: { port, flag }, parentPort } = require("node:worker_threads");
  const socket = require("node:net").connect(port, "127.0.0.1");
  parentPort.once("message", () => socket.write("x", () => {
    Atomics.store(flag, 0, 1);
    Atomics.notify(flag, 0);
  }));
`;

it("systemClock.afterPendingIo() calls back after data that arrived while the event loop was blocked", async () => {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const flag = new Int32Array(new SharedArrayBuffer(4));
  const { port } = server.address() as { port: number };
  const worker = new Worker(peer, { eval: true, workerData: { port, flag } });
  const [socket] = (await once(server, "connection")) as [Socket];

  const order: string[] = [];
  const done = new Promise<void>((resolve) => {
    socket.once("data", () => order.push("data"));
    systemClock.startTimer(1, () => {
      order.push("timer");
      systemClock.afterPendingIo(() => {
        order.push("after pending I/O");
        resolve();
      });
    });
  });
  worker.postMessage("send");
  Atomics.wait(flag, 0, 0);
  const timerIsDueAtMs = performance.now() + 5;
  while (performance.now() < timerIsDueAtMs);
  await done;
  expect(order).toEqual(["timer", "data", "after pending I/O"]);

  socket.destroy();
  server.close();
  await worker.terminate();
});

it("acquire(), using(), release() and close() settle in a test that has replaced all timers, and runs none", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const redlock = new Redlock([memoryNode(), memoryNode(), memoryNode()]);
  const lock = await redlock.acquire("invoice:42");
  expect(await redlock.using("invoice:43", ({ fence }) => fence)).toBeGreaterThan(0);
  await lock.release();
  await redlock.close();
});
