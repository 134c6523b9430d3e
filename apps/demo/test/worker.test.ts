import { Redlock } from "@holdfast/core";
import { memoryNode } from "@holdfast/memory";
import { describe, expect, it } from "vitest";
import { memoryDatabase } from "../src/database.ts";
import { ledger, type Resource, resources } from "../src/options.ts";
import type { Visit } from "../src/run.ts";
import { createWorker, pick, usingOf, visit, type Workplace } from "../src/worker.ts";
import { mortalNode } from "../src/world.ts";
import { setupOf } from "./stories.ts";

const orders = resources[0] as Resource;
const nothing = async (): Promise<void> => {};

/** A workplace that records all reports. */
function place(redlock = new Redlock([memoryNode()], { ttlMs: 10_000 })) {
  const told: Visit[] = [];
  const stop = new AbortController();
  const workplace: Workplace = {
    worker: "w1",
    using: (name, options, routine) => redlock.using(name, options, routine),
    database: memoryDatabase(),
    tell: (visit) => void told.push({ ...visit }),
    stop: stop.signal,
  };
  const ended = (): Visit[] => told.filter(({ leftAtMs }) => leftAtMs !== Infinity);
  return { workplace, told, ended, stop, redlock };
}

describe("visit()", () => {
  it("visit() increments under the lock, and reports when it waits, enters and leaves", async () => {
    const { workplace, told } = place();
    await visit(workplace, orders, nothing);
    expect(await workplace.database.read("orders")).toBe(1);
    expect(told.map(({ enteredAtMs, leftAtMs }) => [enteredAtMs < Infinity, leftAtMs < Infinity])).toEqual([
      [false, false],
      [true, false],
      [true, true],
    ]);
    const last = told[2] as Visit;
    expect(last).toMatchObject({ worker: "w1", resource: "orders", write: "accepted" });
    const { calledAtMs, enteredAtMs, readAtMs, wroteAtMs, leftAtMs, validUntilMs } = last;
    const times = [calledAtMs, enteredAtMs, readAtMs, wroteAtMs, leftAtMs, validUntilMs];
    expect(times).toEqual(times.toSorted((a, b) => a - b));
  });

  it("visit() reports a lock that is lost while it is inside, and does not write", async () => {
    const { workplace, ended } = place(new Redlock([memoryNode()], { ttlMs: 60, nodeTimeoutMs: 50 }));
    const untilLost = async (lock: { readonly signal: AbortSignal }): Promise<void> => {
      await new Promise((resolve) => lock.signal.addEventListener("abort", resolve));
      lock.signal.throwIfAborted();
    };
    await visit(workplace, orders, untilLost, { autoExtend: false });
    expect(ended()).toMatchObject([{ write: "none", failure: { code: "LOCK_LOST" } }]);
    expect(await workplace.database.read("orders")).toBe(0);
  });

  it("visit() ends the validity once its signal aborts, whatever remained of it", async () => {
    const { workplace, ended } = place();
    const loss = new AbortController();
    const using: Workplace["using"] = (_resource, _options, routine) =>
      routine({ fence: 1, signal: loss.signal, remainingMs: () => (loss.signal.aborted ? 0 : 60_000) });
    await visit({ ...workplace, using }, orders, async () => loss.abort());
    const { validUntilMs, wroteAtMs } = ended()[0] as Visit;
    expect(validUntilMs).toBeLessThanOrEqual(wroteAtMs);
  });

  it("visit() stops waiting when its signal aborts or its time is over, and throws other errors", async () => {
    const { workplace, ended, stop, redlock } = place();
    await redlock.acquire("orders");
    await visit(workplace, orders, nothing, { waitTimeoutMs: 20 });
    const fault = async (): Promise<void> => {
      throw new Error("out of order");
    };
    await expect(visit(workplace, ledger, fault)).rejects.toThrow("out of order");
    const visiting = visit(workplace, orders, nothing);
    stop.abort(Object.assign(new Error("told to finish"), { code: "FINISH" }));
    await visiting;
    expect(ended().map(({ failure }) => failure?.code)).toEqual(["WAIT_TIMEOUT", undefined, "FINISH"]);
  });

  it("visit() without locks lets all workers in, and loses updates", async () => {
    const { workplace, ended } = place();
    const open = { ...workplace, using: usingOf(setupOf("--break"), [memoryNode()]) };
    const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 10));
    await Promise.all([visit(open, orders, pause), visit(open, orders, pause)]);
    expect(ended().map(({ write, fence }) => [write, fence])).toEqual([
      ["accepted", 0],
      ["accepted", 0],
    ]);
    expect(await workplace.database.read("orders")).toBe(1);
  });
});

describe("pick()", () => {
  it("pick() follows the weights", () => {
    const names = [0, 0.29, 0.3, 0.59, 0.6, 0.69, 0.7, 0.999].map((share) => pick(share).name);
    expect(names).toEqual(["orders", "orders", "stock", "stock", "report", "report", "ledger", "ledger"]);
  });
});

describe("createWorker()", () => {
  it("approachWrite() and write() write late, and are refused after another worker has written", async () => {
    const { workplace, ended } = place(new Redlock([memoryNode()], { ttlMs: 60, nodeTimeoutMs: 50 }));
    const sleeper = createWorker({ ...workplace, worker: "sleeper" }, 60);
    await sleeper.approachWrite({ autoExtend: false });
    await visit({ ...workplace, worker: "w2" }, ledger, nothing, { ttlMs: 60_000 });
    await sleeper.write();
    const [others, late] = ended().slice(-2) as [Visit, Visit]; // on a busy machine, locks were lost before the pause
    expect(others).toMatchObject({ worker: "w2", write: "accepted" });
    expect(late).toMatchObject({ worker: "sleeper", write: "refused", newestFence: others.fence });
    expect(late.failure?.code).toBe("LOCK_LOST");
    expect(late.fence).toBeLessThan(others.fence);
    expect(late.validUntilMs).toBeLessThan(others.enteredAtMs);
    expect(await workplace.database.read("ledger")).toBe(1);
  });

  it("finish() ends a worker that contends, and one that is paused", async () => {
    const { workplace, ended } = place();
    const [worker, sleeper] = [createWorker(workplace, 1000), createWorker(workplace, 1000)];
    const contending = worker.contend();
    await expect.poll(() => ended().length).toBeGreaterThan(0);
    await sleeper.approachWrite();
    await Promise.all([worker.finish(), sleeper.finish(), contending]);
  });

  it("contend() rejects with an error that does not come from locking", async () => {
    const { workplace } = place();
    const read = () => Promise.reject(new Error("out of order"));
    const worker = createWorker({ ...workplace, database: { ...workplace.database, read } }, 1000);
    await expect(worker.contend()).rejects.toThrow("out of order");
  });
});

it("mortalNode() works like a memory node, fails while it is dead, and comes back empty", async () => {
  const request = { resources: ["a"], owner: "me", timeoutMs: 50, ttlMs: 60_000, fenceHint: 1 };
  const { node, kill, restart } = mortalNode("n1");
  expect(await node.acquire(request)).toMatchObject({ granted: true });
  expect(await node.acquire({ ...request, owner: "you" })).toMatchObject({ granted: false });
  await kill();
  await expect(node.acquire(request)).rejects.toThrow("connection refused");
  await restart();
  expect(await node.inspect?.("a")).toEqual({ owner: null, remainingMs: null, fence: 0 });
});
