import { AsyncLocalStorage } from "node:async_hooks";
import { LockHeldError, type LockNode, Redlock, type RedlockOptions } from "@holdfast/core";
import { Nesting } from "@holdfast/core/nesting";
import { memoryNode } from "@holdfast/memory";
import { VirtualClock } from "@holdfast/testkit";
import { describe, expect, it } from "vitest";

function nestingRedlock(options: RedlockOptions = {}, clock = new VirtualClock()) {
  const nodes: LockNode[] = ["a", "b", "c"].map((name) => memoryNode({ name, clock }));
  const redlock = new Redlock(nodes, { clock, nesting: new Nesting(new AsyncLocalStorage()), ...options });
  return { clock, nodes, redlock };
}

const errorOf = (promise: Promise<unknown>) => promise.catch((error: unknown) => error);

describe("the option nesting", () => {
  it("using() and acquire() reject at once within the lock that they would wait for", async () => {
    const { clock, redlock } = nestingRedlock();
    const within = redlock.using(["q", "r"], { label: "worker-7" }, async () => {
      await clock.advance(1); // it is known after promises and timers
      return [await errorOf(redlock.using("r", () => {})), await errorOf(redlock.acquire(["r", "s"]))];
    });
    for (const error of await clock.until(within)) {
      expect(error).toBeInstanceOf(LockHeldError);
      expect((error as Error).message).toContain(
        "it is called within the lock on r, as worker-7, and would wait for itself",
      );
    }
    expect(clock.pendingTimers).toBe(0);
  });

  it("using() rejects at once within a lock around the lock around it", async () => {
    const { clock, redlock } = nestingRedlock();
    const inner = () => redlock.using("b", () => errorOf(redlock.acquire("a")));
    expect(await clock.until(redlock.using("a", inner))).toBeInstanceOf(LockHeldError);
  });

  it("using() waits for calls beside it, for other resources, and for other Redlocks", async () => {
    const { clock, nodes, redlock } = nestingRedlock();
    const order: string[] = [];
    const beside = (name: string) => redlock.using("r", () => void order.push(name));
    await clock.until(Promise.all([beside("first"), beside("second"), redlock.using("r", other)]));
    expect(order).toEqual(["first", "second", "other"]);

    async function other(): Promise<void> {
      await redlock.using("s", () => void order.push("other"));
      const stranger = new Redlock(nodes, { clock, nesting: new Nesting(new AsyncLocalStorage()) });
      expect(await errorOf(stranger.acquire("r", { waitTimeoutMs: 10 }))).toMatchObject({ code: "WAIT_TIMEOUT" });
    }
  });

  it("using() shares a lock with the shared lock around it, and rejects if one of them is exclusive", async () => {
    const { clock, redlock } = nestingRedlock();
    const shared = { mode: "shared" } as const;
    const within = redlock.using("r", shared, async () => [
      await redlock.using("r", shared, () => "shared"),
      await errorOf(redlock.using("r", () => {})),
    ]);
    expect(await clock.until(within)).toEqual(["shared", expect.any(LockHeldError)]);
  });

  it("using() locks again within a lock that has ended, and tryAcquire() resolves with null within one that has not", async () => {
    const { clock, redlock } = nestingRedlock();
    const within = redlock.using("r", async (lock) => {
      const held = await redlock.tryAcquire("r");
      await lock.release();
      return [held, await redlock.using("r", () => "again")];
    });
    expect(await clock.until(within)).toEqual([null, "again"]);
  });

  it("using() keeps no lock that has ended, however long a chain of work goes on", async () => {
    const storage = new AsyncLocalStorage<{ outer?: object }>();
    const { redlock } = nestingRedlock({ nesting: new Nesting(storage) });
    let outer: object | undefined;
    const work = async (left: number): Promise<void> => {
      let start = (): void => {};
      let next: Promise<void> | undefined;
      await redlock.using("r", () => {
        outer = storage.getStore()?.outer;
        if (left > 0) next = new Promise<void>((resolve) => (start = resolve)).then(() => work(left - 1));
      });
      start();
      await next;
    };
    await work(3);
    expect(outer).toBeUndefined();
  });

  it("new Redlock() and new Nesting() refuse what is none", () => {
    expect(() => new Nesting({} as AsyncLocalStorage<unknown>)).toThrow(
      "storage must be an object with the method getStore",
    );
    const nesting = {} as Nesting;
    expect(() => nestingRedlock({ nesting })).toThrow("nesting must be an object with the method run");
  });
});
