import { Redlock, WaitTimeoutError } from "@holdfast/core";
import { memoryNode } from "@holdfast/memory";
import { expect, test } from "vitest";
import { limitedApi } from "../src/k-slots.ts";
import { openTestLocks, startWorld } from "./world.ts";

test("limitedApi() admits as many calls of all processes as there are permits, and no more", async () => {
  const world = await startWorld();
  const all = await Promise.all([1, 2].map(() => openTestLocks(world)));
  const options = { permits: 3, waitTimeoutMs: 60_000 };
  const apis = all.map(({ redlock }) => limitedApi(redlock, "api", options));
  let [inside, most, calls] = [0, 0, 0];
  let open = (): void => {};
  const full = new Promise<void>((resolve) => {
    open = resolve;
  });
  const call = (weight: number) => async (): Promise<number> => {
    inside += weight;
    most = Math.max(most, inside);
    if (inside === options.permits) open();
    await full; // until all permits are taken
    await world.data.incr("calls"); // and for a round trip
    inside -= weight;
    return ++calls;
  };
  const results = [1, 1, 1, 2, 1, 2, 3, 1].flatMap((weight) => apis.map((api) => api(call(weight), { weight })));
  expect((await Promise.all(results)).sort((a, b) => a - b)).toEqual(
    Array.from({ length: 16 }, (_, index) => index + 1),
  );
  expect(most).toBe(3);
  await expect.poll(() => world.locksLeft()).toEqual([]);
});

test("limitedApi() rejects when no permit is free in time or its signal aborts, and takes one that becomes free", async () => {
  const redlock = new Redlock([memoryNode(), memoryNode(), memoryNode()]);
  let leave = (): void => {};
  const staying = [1, 2].map(() => {
    return limitedApi(redlock, "api", { permits: 2, waitTimeoutMs: 1_000 })(() => {
      return new Promise<void>((resolve) => {
        leave = resolve;
      });
    });
  });
  await expect.poll(() => redlock.inspect("sem:api:0")).toMatchObject({ state: "held" });
  await expect.poll(() => redlock.inspect("sem:api:1")).toMatchObject({ state: "held" });

  const nothing = () => Promise.resolve();
  const impatient = limitedApi(redlock, "api", { permits: 2, waitTimeoutMs: 300 });
  await expect(impatient(nothing)).rejects.toThrow(WaitTimeoutError);
  const patient = limitedApi(redlock, "api", { permits: 2, waitTimeoutMs: 60_000 });
  const signal = AbortSignal.abort(new Error("never mind"));
  await expect(patient(nothing, { signal })).rejects.toThrow("never mind");

  const waiting = patient(async () => "made");
  leave();
  await Promise.race(staying);
  expect(await waiting).toBe("made");
});
