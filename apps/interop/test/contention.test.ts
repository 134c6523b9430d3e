import { startRedisServer } from "@holdfast/testkit";
import { describe, expect, onTestFinished, test } from "vitest";
import { holdContest, sum } from "../src/contention/arena.ts";
import { type Counts, contend } from "../src/contention/contend.ts";
import { connectStore } from "../src/contention/store.ts";
import { holdfastOverIoredis } from "../src/libraries/holdfast.ts";
import { libraries } from "../src/libraries/index.ts";
import type { Library } from "../src/libraries/library.ts";
import { none } from "../src/libraries/none.ts";
import { redlock5 } from "../src/libraries/others.ts";
import { startServers } from "./servers.ts";

const servers = await startServers(3);
const keys = ["mutex:number-1", "mutex:number-2"];
const locks = 6;
const limitMs = 60_000;

/** Lets two clients of each library contend in this process. Resolves with their counts and the lost updates. */
async function contest(...contenders: readonly Library[]): Promise<{ counts: Counts; lostUpdates: number }> {
  const { port, stop } = await startRedisServer();
  onTestFinished(stop);
  const store = connectStore(port);
  const ports = servers.map((server) => server.port);
  const runs = [...contenders, ...contenders].map(async (library) => {
    const locker = await library.connect(ports);
    try {
      return await contend(locker, store, { keys, locks, locksSeveral: library.locksSeveral, limitMs });
    } finally {
      locker.close();
    }
  });
  const counts = sum(await Promise.all(runs));
  const numbers = await Promise.all(keys.map((key) => store.read(key)));
  store.close();
  return { counts, lostUpdates: counts.increments - numbers.reduce((total, number) => total + number, 0) };
}

describe("contend()", () => {
  test("contend() loses no update between clients of Holdfast and of all the other libraries", async () => {
    const { counts, lostUpdates } = await contest(...libraries);
    expect(lostUpdates).toBe(0);
    expect(counts).toMatchObject({ locks: 2 * locks * libraries.length, lostLocks: 0, staleTokens: 0 });
    expect(counts.conflicts).toBeGreaterThan(0);
  });

  test("loses updates without locks", async () => {
    // On a busy machine, one process may be done before the next begins.
    await expect.poll(async () => (await contest(none)).lostUpdates).toBeGreaterThan(0);
  });
});

test("holdContest() loses no update between processes", async () => {
  const contenders = [holdfastOverIoredis, redlock5];
  const { byLibrary, lostUpdates } = await holdContest({
    libraries: contenders,
    servers: 1,
    processes: 1,
    clients: 2,
    locks: 20,
    limitMs,
  });
  expect(lostUpdates).toBe(0);
  expect(byLibrary).toMatchObject(
    contenders.map(({ name }) => ({ library: name, locks: 40, lostLocks: 0, staleTokens: 0 })),
  );
});
