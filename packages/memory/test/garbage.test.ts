import { setTimeout as sleep } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { type Lock, Redlock } from "@holdfast/core";
import { expect, it } from "vitest";
import { memoryNode } from "../src/index.ts";

// Not a test of core's own folder: what looks for sleepers there keeps all calls.
it("acquire() keeps no earlier call, although each waits for the one before", async () => {
  setFlagsFromString("--expose-gc");
  const collectGarbage: () => void = runInNewContext("gc");
  const redlock = new Redlock([memoryNode()]);
  const signals: WeakRef<AbortSignal>[] = [];
  const lockInTurn = async (): Promise<void> => {
    let last: Promise<Lock> | undefined;
    for (let index = 0; index < 50; index++) {
      const { signal } = new AbortController();
      signals.push(new WeakRef(signal));
      const lock = redlock.acquire([`n${index}`, `n${index + 1}`], { signal });
      await (await last)?.release();
      last = lock;
    }
    await last;
  };
  await lockInTurn();
  await sleep(1); // what was created in this turn of the event loop cannot be collected before
  collectGarbage();
  expect(signals.filter((signal) => signal.deref()).length).toBeLessThan(5);
});
