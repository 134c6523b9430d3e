import { Redlock, WaitTimeoutError } from "@holdfast/core";
import { memoryNode } from "@holdfast/memory";
import { expect, test } from "vitest";
import { limitedApi } from "../src/k-slots.ts";
import { type Child, startChild } from "./child.ts";
import { openTestLocks, startWorld } from "./world.ts";

test("limitedApi() admits as many calls of all processes as there are permits, and no more", async () => {
  const world = await startWorld();
  const all = [1, 2].map(() => openTestLocks(world));
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

/** A moment at which a process has seen that its permit was valid, on the clock of the machine. */
interface Sighting {
  readonly holder: string;
  readonly slot: string;
  readonly fence: number;
  readonly atMs: number;
}

/** Processes that compete for two permits. */
function createHolders(lockUrls: string) {
  const children = new Map<string, Child>();
  const sightings: Sighting[] = [];
  const lastLines = new Map<string, string>();
  const listen = async (holder: string, child: Child): Promise<void> => {
    for (;;) {
      const line = await child.says(/./).catch(() => undefined);
      if (line === undefined) return;
      lastLines.set(holder, line);
      const [what, slot = "", fence, at] = line.split(" ");
      if (what === "holds") sightings.push({ holder, slot, fence: Number(fence), atMs: Number(at) });
    }
  };
  /** Returns what was seen of a slot, in the order of the fences, and of time for each. */
  const of = (slot: string): Sighting[] =>
    sightings.filter((one) => one.slot === slot).sort((a, b) => a.fence - b.fence || a.atMs - b.atMs);
  return {
    of,
    async start(name: string): Promise<void> {
      const child = await startChild("permit-holder", lockUrls, name);
      children.set(name, child);
      void listen(name, child);
    },
    get: (name: string) => children.get(name) as Child,
    lastLineOf: (name: string) => lastLines.get(name),
    /** Returns the latest holder of each slot. */
    latest: () => ["0", "1"].flatMap((slot) => of(slot).slice(-1)),
    /** Resolves when another process holds this slot. */
    async successorOf({ slot, holder, fence }: Sighting): Promise<void> {
      const isLater = (one: Sighting): boolean => one.fence > fence && one.holder !== holder;
      await expect.poll(() => of(slot).some(isLater), { timeout: 15_000 }).toBe(true);
    },
  };
}

test("semaphore() hands the permits of killed and paused processes on, and never has two valid holders of a slot", {
  timeout: 60_000,
}, async () => {
  const world = await startWorld();
  const { redlock } = openTestLocks(world);
  const holders = createHolders(world.lockUrls);
  const turn = async () => (await redlock.inspect("sem:jobs:turn")).label ?? "";
  for (const name of ["a", "b", "c", "d"]) await holders.start(name);
  await expect.poll(() => holders.latest().length, { timeout: 15_000 }).toBe(2);

  const [killed] = holders.latest() as [Sighting];
  holders.get(killed.holder).send("SIGKILL");
  await holders.successorOf(killed);

  const paused = holders.latest().find(({ slot }) => slot !== killed.slot) as Sighting;
  holders.get(paused.holder).send("SIGSTOP");
  await holders.successorOf(paused);
  holders.get(paused.holder).send("SIGCONT");
  await expect.poll(() => holders.lastLineOf(paused.holder)).toBe("acquires"); // it has noticed the loss

  // It waits again. When the process that has the turn dies, the turn passes to the next one.
  await expect.poll(turn).not.toBe("");
  holders.get(await turn()).send("SIGKILL");
  await holders.start("e");
  await expect.poll(() => holders.lastLineOf("e")).toBe("acquires");
  const [released] = holders.latest() as [Sighting];
  holders.get(released.holder).tell("end");
  await holders.successorOf(released);

  for (const slot of ["0", "1"]) {
    const times = holders.of(slot).map(({ atMs }) => atMs);
    expect(times).toEqual([...new Set(times)].sort((a, b) => a - b)); // each holder was seen before its successor
  }
});
