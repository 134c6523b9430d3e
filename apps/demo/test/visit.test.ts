import { Redlock } from "@holdfast/core";
import { memoryNode } from "@holdfast/memory";
import { describe, expect, it } from "vitest";
import { memoryDatabase } from "../src/database/memory-database.ts";
import type { Happening, Visit } from "../src/events.ts";
import { pick } from "../src/worker/contend.ts";
import { type Locker, lockerOf, noLock } from "../src/worker/locker.ts";
import { oversleep } from "../src/worker/oversleep.ts";
import { visit, type Workplace } from "../src/worker/visit.ts";
import { setup } from "./stories.ts";

const orders = setup.resources[0] as (typeof setup.resources)[number];
const ledger = setup.resources[3] as (typeof setup.resources)[number];

/** A workplace that records all events. */
function place(redlock = new Redlock([memoryNode()], { ttlMs: 10_000 })) {
  const events: Happening[] = [];
  const stop = new AbortController();
  const workplace: Workplace = {
    worker: "w1",
    locker: lockerOf(redlock),
    database: memoryDatabase(),
    emit: (event) => events.push(event),
    stop: stop.signal,
  };
  const visits = (): Visit[] => events.flatMap((event) => (event.kind === "left" ? [event.visit] : []));
  return { workplace, events, stop, visits, redlock };
}

describe("visit()", () => {
  it("visit() increments under the lock, and reports when it was inside", async () => {
    const { workplace, events, visits } = place();
    await visit(workplace, orders, async () => {});
    expect(events.map(({ kind }) => kind)).toEqual(["waiting", "entered", "left"]);
    expect(await workplace.database.look("orders")).toBe(1);
    const [seen] = visits();
    expect(seen).toMatchObject({ worker: "w1", resource: "orders", write: "accepted", newestFence: null });
    const { enteredAtMs = 0, readAtMs, wroteAtMs, leftAtMs = 0, validUntilMs } = seen ?? {};
    expect(readAtMs).toBeGreaterThanOrEqual(enteredAtMs);
    expect(wroteAtMs).toBeGreaterThanOrEqual(readAtMs as number);
    expect(leftAtMs).toBeGreaterThanOrEqual(wroteAtMs as number);
    expect(validUntilMs).toBeGreaterThan(leftAtMs);
  });

  it("visit() reports a lock that is lost while it is inside, and does not write", async () => {
    const { workplace, events } = place(new Redlock([memoryNode()], { ttlMs: 60, nodeTimeoutMs: 50 }));
    const untilLost = async (lock: { readonly signal: AbortSignal }): Promise<void> => {
      await new Promise((resolve) => lock.signal.addEventListener("abort", resolve));
      lock.signal.throwIfAborted();
    };
    await visit(workplace, orders, untilLost, { autoExtend: false });
    expect(events.map(({ kind }) => kind)).toEqual(["waiting", "entered", "left", "lock-lost"]);
    expect(await workplace.database.look("orders")).toBe(0);
  });

  it("visit() ends the validity once its signal aborts, whatever remained of it", async () => {
    const { workplace, visits } = place();
    const loss = new AbortController();
    const locker: Locker = (_resource, _options, routine) =>
      routine({ fence: 1, signal: loss.signal, remainingMs: () => (loss.signal.aborted ? 0 : 60_000) });
    await visit({ ...workplace, locker }, orders, async () => loss.abort());
    const { validUntilMs, wroteAtMs } = visits()[0] as Visit;
    expect(validUntilMs).toBeLessThanOrEqual(wroteAtMs as number);
  });

  it("visit() stops waiting when its signal aborts", async () => {
    const { workplace, events, stop, redlock } = place();
    await redlock.acquire("orders");
    const visiting = visit(workplace, orders, async () => {});
    stop.abort();
    await visiting;
    expect(events.map(({ kind }) => kind)).toEqual(["waiting", "stopped-waiting"]);
  });

  it("visit() reports a wait that timed out, and throws errors that do not come from locking", async () => {
    const { workplace, events, redlock } = place();
    await redlock.acquire("orders");
    await visit(workplace, orders, async () => {}, { waitTimeoutMs: 20 });
    expect(events.map(({ kind }) => kind)).toEqual(["waiting", "timed-out"]);
    const fault = async (): Promise<void> => {
      throw new Error("out of order");
    };
    await expect(visit(workplace, ledger, fault)).rejects.toThrow("out of order");
  });

  it("visit() with noLock lets all workers in, and loses updates", async () => {
    const { workplace, visits } = place();
    const open = { ...workplace, locker: noLock };
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
    const names = [0, 0.29, 0.3, 0.59, 0.6, 0.69, 0.7, 0.999].map((share) => pick(setup.resources, share).name);
    expect(names).toEqual(["orders", "orders", "stock", "stock", "report", "report", "ledger", "ledger"]);
  });
});

describe("oversleep()", () => {
  it("oversleep() writes late, and is refused after another worker has written", async () => {
    const { workplace, events, visits } = place(new Redlock([memoryNode()], { ttlMs: 60, nodeTimeoutMs: 50 }));
    const another = { ...workplace, worker: "w2" };
    const nap = (): Promise<void> => visit(another, ledger, async () => {});
    await oversleep(workplace, ledger, nap, { autoExtend: false });
    expect(visits().map(({ worker, write }) => [worker, write])).toEqual([
      ["w2", "accepted"],
      ["w1", "refused"],
    ]);
    const [others, late] = visits();
    expect(late?.newestFence).toBe(others?.fence);
    expect(late?.fence).toBeLessThan(others?.fence ?? 0);
    expect(late?.validUntilMs).toBeLessThan(others?.enteredAtMs ?? 0);
    expect(events.at(-1)).toMatchObject({ kind: "lock-lost", worker: "w1" });
    expect(await workplace.database.look("ledger")).toBe(1);
  });
});
