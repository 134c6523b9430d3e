import { isNightly } from "@holdfast/testkit";
import { createCleanup } from "@holdfast/testkit/cleanup";
import { afterAll, describe, expect, test } from "vitest";
import { inStores, storePairs } from "../src/contenders/index.ts";
import { ttlMs } from "../src/process/calls.ts";
import { createStores } from "../src/stores.ts";

const cleanup = createCleanup();
const stores = createStores(cleanup);

afterAll(() => cleanup.run());

describe.each(inStores)("$name", ({ name, load, settings, store }) => {
  test.each(isNightly ? [true, false] : [false])(
    "excludes another client until the release, synced: %s",
    async (isSynced) => {
      const connect = await load();
      const { address } = await stores.get(store as "redis", isSynced);
      const [first, second] = [await connect([address], settings), await connect([address], settings)];
      const release = await first.acquire(name, ttlMs);
      let isReleased = false;
      const acquired = second.acquire(name, ttlMs).then((releaseSecond) => {
        expect(isReleased).toBe(true);
        return releaseSecond();
      });
      await (await first.acquire(`${name}, another`, ttlMs))();
      isReleased = true;
      await release();
      await acquired;
      await (await first.acquire(name, ttlMs))();
      await Promise.all([first.close(), second.close()]);
    },
  );
});

test.each(storePairs)("$holdfast.name locks several keys at once", async ({ store, holdfast }) => {
  const connect = await holdfast.load();
  const { address } = await stores.get(store, false);
  const client = await connect([address], holdfast.settings);
  const release = await client.acquireAll?.(["one", "two"], ttlMs);
  const second = client.acquire("two", ttlMs);
  await release?.();
  await (await second)();
  await client.close();
});

test.each(["postgres", "etcd", "redis"] as const)("RunningStore.cpuUs() grows with the work of %s", async (store) => {
  const { cpuUs } = await stores.get(store, false);
  const before = cpuUs();
  const { holdfast } = storePairs.find((pair) => pair.store === store) ?? {};
  const connect = await holdfast?.load();
  const { address } = await stores.get(store, false);
  const client = await connect?.([address], holdfast?.settings as never);
  for (let time = 0; time < 20; time++) await (await client?.acquire("busy", ttlMs))?.();
  expect(cpuUs()).toBeGreaterThan(before);
  await client?.close();
});
