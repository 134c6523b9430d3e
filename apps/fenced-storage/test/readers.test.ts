import type { Lock } from "@holdfast/core";
import { StaleFenceError } from "@holdfast/redis";
import { createCleanup } from "@holdfast/testkit/cleanup";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Accounts } from "../src/accounts.ts";
import { connectLocks, startLockServers } from "../src/play/locks.ts";
import { load, type StorageName, storages } from "../src/storages.ts";

const ttlMs = 500;

/** Readers and writers of one account over three lock servers. */
interface World {
  readonly accounts: Accounts;
  /** Acquires a lock that is lost soon, as its holder does nothing until then. */
  lockBriefly(mode: "exclusive" | "shared"): Promise<Lock>;
  /** Acquires the lock once it is free. */
  lock(mode: "exclusive" | "shared"): Promise<Lock>;
}

async function startWorld(storage: StorageName): Promise<World> {
  const cleanup = createCleanup();
  onTestFinished(cleanup.run);
  const { redlock, close } = await connectLocks(await startLockServers(cleanup));
  cleanup.defer(close);
  const { start, open } = await load[storage]();
  const accounts = await open(await start(cleanup));
  cleanup.defer(accounts.close);
  await accounts.create("a", 100);
  return {
    accounts,
    lockBriefly: (mode) => redlock.acquire("a", { mode, ttlMs, autoExtend: false }),
    lock: (mode) => redlock.acquire("a", { mode }),
  };
}

/** Resolves with the token that refused the call. */
async function refusalOf(call: Promise<unknown>): Promise<number> {
  const error = await call.then(
    () => new Error("it was accepted"),
    (reason: unknown) => reason,
  );
  if (!(error instanceof StaleFenceError)) throw error;
  return error.newestFence;
}

const withTwoNumbers: StorageName[] = ["redis", "postgres"];

describe.each(withTwoNumbers)("readers and writers of accounts in %s", (storage) => {
  const title = storages[storage];
  const read = ({ accounts }: World, { fence }: Lock): Promise<number> => accounts.read("a", fence);

  test(`${title} refuses a late reader once a newer writer has written, but not before`, async () => {
    const world = await startWorld(storage);
    const late = await world.lockBriefly("shared");
    const writer = await world.lock("exclusive"); // the reader has lost its lock by now
    expect(await read(world, writer)).toBe(100);
    expect(await read(world, late)).toBe(100); // as if it had read in time
    await world.accounts.write("a", 150, writer.fence);
    expect(await refusalOf(read(world, late))).toBe(writer.fence);
    expect(await read(world, writer)).toBe(150);
  });

  test(`${title} refuses a late writer once a newer reader has read, which would see two values otherwise`, async () => {
    const world = await startWorld(storage);
    const late = await world.lockBriefly("exclusive");
    const balance = await read(world, late);
    const reader = await world.lock("shared"); // the writer has lost its lock by now
    expect(await read(world, reader)).toBe(100);
    expect(await refusalOf(world.accounts.write("a", balance - 30, late.fence))).toBe(reader.fence);
    expect(await read(world, reader)).toBe(100);
    await world.accounts.write("a", balance - 30); // without a check, the same reader sees another value
    expect(await read(world, reader)).toBe(70);
  });
});
