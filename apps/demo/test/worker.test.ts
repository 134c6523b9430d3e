import { Redlock } from "@holdfast/core";
import { memoryNode } from "@holdfast/memory";
import { describe, expect, it } from "vitest";
import { memoryDatabase } from "../src/database.ts";
import { ledger, parseOptions, type Resource, resources, type Setup } from "../src/options.ts";
import type { Visit, WorkerEvent } from "../src/run.ts";
import { createWorker, pick, usingOf, visit, type Workplace } from "../src/worker.ts";

const orders = resources[0] as Resource;

/** A workplace that records all events. */
function place(redlock = new Redlock([memoryNode()], { ttlMs: 10_000 })) {
  const events: WorkerEvent[] = [];
  const stop = new AbortController();
  const workplace: Workplace = {
    worker: "w1",
    using: (name, options, routine) => redlock.using(name, options, routine),
    database: memoryDatabase(),
    tell: (event) => void events.push(event),
    stop: stop.signal,
  };
  const visits = (): Visit[] => events.filter((event) => event.kind === "left");
  const kinds = (): string[] => events.map((event) => (event.kind === "failed" ? event.code : event.kind));
  return { workplace, events, kinds, stop, visits, redlock };
}

describe("visit()", () => {
  it("visit() increments under the lock, and reports when it was inside", async () => {
    const { workplace, kinds, visits } = place();
    await visit(workplace, orders, async () => {});
    expect(kinds()).toEqual(["waiting", "entered", "left"]);
    expect(await workplace.database.look("orders")).toBe(1);
    const [seen] = visits();
    expect(seen).toMatchObject({ worker: "w1", resource: "orders", write: "accepted" });
    const { enteredAtMs, readAtMs, wroteAtMs, leftAtMs, validUntilMs } = seen as Visit;
    expect(readAtMs).toBeGreaterThanOrEqual(enteredAtMs);
    expect(wroteAtMs).toBeGreaterThanOrEqual(readAtMs);
    expect(leftAtMs).toBeGreaterThanOrEqual(wroteAtMs);
    expect(validUntilMs).toBeGreaterThan(leftAtMs);
  });

  it("visit() reports a lock that is lost while it is inside, and does not write", async () => {
    const { workplace, kinds } = place(new Redlock([memoryNode()], { ttlMs: 60, nodeTimeoutMs: 50 }));
    const untilLost = async (lock: { readonly signal: AbortSignal }): Promise<void> => {
      await new Promise((resolve) => lock.signal.addEventListener("abort", resolve));
      lock.signal.throwIfAborted();
    };
    await visit(workplace, orders, untilLost, { autoExtend: false });
    expect(kinds()).toEqual(["waiting", "entered", "left", "LOCK_LOST"]);
    expect(await workplace.database.look("orders")).toBe(0);
  });

  it("visit() ends the validity once its signal aborts, whatever remained of it", async () => {
    const { workplace, visits } = place();
    const loss = new AbortController();
    const using: Workplace["using"] = (_resource, _options, routine) =>
      routine({ fence: 1, signal: loss.signal, remainingMs: () => (loss.signal.aborted ? 0 : 60_000) });
    await visit({ ...workplace, using }, orders, async () => loss.abort());
    const { validUntilMs, wroteAtMs } = visits()[0] as Visit;
    expect(validUntilMs).toBeLessThanOrEqual(wroteAtMs);
  });

  it("visit() stops waiting when its signal aborts", async () => {
    const { workplace, kinds, stop, redlock } = place();
    await redlock.acquire("orders");
    const visiting = visit(workplace, orders, async () => {});
    stop.abort(Object.assign(new Error("told to finish"), { code: "FINISH" }));
    await visiting;
    expect(kinds()).toEqual(["waiting", "FINISH"]);
  });

  it("visit() reports a wait that timed out, and throws errors that do not come from locking", async () => {
    const { workplace, kinds, redlock } = place();
    await redlock.acquire("orders");
    await visit(workplace, orders, async () => {}, { waitTimeoutMs: 20 });
    expect(kinds()).toEqual(["waiting", "WAIT_TIMEOUT"]);
    const fault = async (): Promise<void> => {
      throw new Error("out of order");
    };
    await expect(visit(workplace, ledger, fault)).rejects.toThrow("out of order");
  });

  it("visit() without locks lets all workers in, and loses updates", async () => {
    const { workplace, visits } = place();
    const open = { ...workplace, using: usingOf(parseOptions(["--break"]) as Setup, [memoryNode()]) };
    const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 10));
    await Promise.all([visit(open, orders, pause), visit(open, orders, pause)]);
    expect(visits().map(({ write, fence }) => [write, fence])).toEqual([
      ["accepted", 0],
      ["accepted", 0],
    ]);
    expect(await workplace.database.look("orders")).toBe(1);
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
    const { workplace, kinds, visits } = place(new Redlock([memoryNode()], { ttlMs: 60, nodeTimeoutMs: 50 }));
    const sleeper = createWorker({ ...workplace, worker: "sleeper" }, 60);
    await sleeper.approachWrite({ autoExtend: false });
    await visit({ ...workplace, worker: "w2" }, ledger, async () => {});
    await sleeper.write();
    expect(visits().map(({ worker, write }) => [worker, write])).toEqual([
      ["w2", "accepted"],
      ["sleeper", "refused"],
    ]);
    const [others, late] = visits();
    expect(late?.newestFence).toBe(others?.fence);
    expect(late?.fence).toBeLessThan(others?.fence ?? 0);
    expect(late?.validUntilMs).toBeLessThan(others?.enteredAtMs ?? 0);
    expect(kinds().at(-1)).toBe("LOCK_LOST");
    expect(await workplace.database.look("ledger")).toBe(1);
  });

  it("finish() ends a worker that contends, and one that is paused", async () => {
    const { workplace, visits } = place();
    const [worker, sleeper] = [createWorker(workplace, 1000), createWorker(workplace, 1000)];
    const contending = worker.contend();
    await expect.poll(() => visits().length).toBeGreaterThan(0);
    await sleeper.approachWrite();
    await Promise.all([worker.finish(), sleeper.finish(), contending]);
  });

  it("contend() rejects with an error that does not come from locking", async () => {
    const { workplace } = place();
    const fault = async (): Promise<never> => {
      throw new Error("out of order");
    };
    const worker = createWorker({ ...workplace, database: { ...workplace.database, read: fault } }, 1000);
    await expect(worker.contend()).rejects.toThrow("out of order");
  });
});
