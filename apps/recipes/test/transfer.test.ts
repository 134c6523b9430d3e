import { Redlock } from "@holdfast/core";
import { memoryNode } from "@holdfast/memory";
import { VirtualClock } from "@holdfast/testkit";
import type { Redis } from "ioredis";
import { expect, test } from "vitest";
import { type FencedValues, fencedValues, StaleFenceError } from "../src/fenced-values.ts";
import { transfer } from "../src/transfer.ts";
import { openTestLocks, startWorld } from "./world.ts";

const people = ["alice", "bob", "carol"];

async function openAccounts(balances: FencedValues): Promise<void> {
  await balances.write(Object.fromEntries(people.map((name) => [`account:${name}`, "100"])), 1);
}

async function balancesOf(data: Redis): Promise<number[]> {
  return Promise.all(people.map(async (name) => Number(await data.hget(`account:${name}`, "value"))));
}

test("transfer() loses no money and never deadlocks when many transfers run in all directions", async () => {
  const world = await startWorld();
  const balances = fencedValues(world.data);
  await openAccounts(balances);
  const all = [1, 2, 3].map(() => openTestLocks(world, { waitTimeoutMs: 60_000 }));
  const pairs = people.flatMap((from) => people.filter((to) => to !== from).map((to) => [from, to] as const));
  const transfers = all.flatMap(({ redlock }, index) =>
    pairs.map(([from, to]) => transfer(redlock, balances, from, to, 1 + index)),
  );
  await Promise.all(transfers);
  expect(await balancesOf(world.data)).toEqual([100, 100, 100]); // each account got as much as it gave
  expect(await world.locksLeft()).toEqual([]);
});

test("transfer() refuses more than the balance, the same account twice, and invalid amounts", async () => {
  const world = await startWorld();
  const balances = fencedValues(world.data);
  await openAccounts(balances);
  const redlock = new Redlock([memoryNode()]);
  await expect(transfer(redlock, balances, "alice", "bob", 101)).rejects.toThrow(
    "alice has 100, which is less than 101",
  );
  await expect(transfer(redlock, balances, "alice", "alice", 1)).rejects.toThrow(RangeError);
  for (const amount of [0, -1, 0.5, NaN]) {
    await expect(transfer(redlock, balances, "alice", "bob", amount)).rejects.toThrow(RangeError);
  }
  expect(await balancesOf(world.data)).toEqual([100, 100, 100]);
});

/**
 * Alice pays Bob 30, and her process is paused past its lock between the read and the write: its clock stands still while the
 * clock of the servers runs. Meanwhile she pays Carol 50.
 */
async function payWhileAnotherIsPaused(balances: FencedValues): Promise<PromiseSettledResult<void>> {
  await openAccounts(balances);
  const clock = new VirtualClock();
  const nodes = [1, 2, 3].map(() => memoryNode({ clock }));
  const ttlMs = 1_000;
  let resume = (): void => {};
  const late = await new Promise<{ readonly transfer: Promise<void> }>((hasRead) => {
    const paused: FencedValues = {
      ...balances,
      async read(keys, fence) {
        const values = await balances.read(keys, fence);
        await new Promise<void>((resolve) => {
          resume = resolve;
          hasRead({ transfer: running });
        });
        return values;
      },
    };
    const running: Promise<void> = transfer(
      new Redlock(nodes, { clock: new VirtualClock(), ttlMs }),
      paused,
      "alice",
      "bob",
      30,
    );
  });
  await clock.advance(ttlMs);
  await transfer(new Redlock(nodes, { clock, ttlMs }), balances, "alice", "carol", 50);
  resume();
  const [outcome] = await Promise.allSettled([late.transfer]);
  return outcome as PromiseSettledResult<void>;
}

test("transfer() of a paused process is refused after another client has accessed one of the accounts", async () => {
  const { data } = await startWorld();
  const outcome = await payWhileAnotherIsPaused(fencedValues(data));
  expect(outcome).toMatchObject({ status: "rejected", reason: expect.any(StaleFenceError) });
  expect(await balancesOf(data)).toEqual([50, 100, 150]);
});

test("transfer() of a paused process creates money if the storage does not check tokens", async () => {
  const { data } = await startWorld();
  const { read, write } = fencedValues(data);
  const unchecked: FencedValues = { read: (keys) => read(keys, 1), write: (values) => write(values, 1) };
  expect(await payWhileAnotherIsPaused(unchecked)).toMatchObject({ status: "fulfilled" });
  expect(await balancesOf(data)).toEqual([70, 130, 150]);
});
