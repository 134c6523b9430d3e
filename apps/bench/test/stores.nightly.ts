import { createCleanup } from "@holdfast/testkit/cleanup";
import { afterAll, describe, expect, test } from "vitest";
import { inStores, storePairs } from "../src/contenders/index.ts";
import { createStores } from "../src/stores.ts";

const cleanup = createCleanup();
const stores = createStores(cleanup);

afterAll(() => cleanup.run());

describe.each(inStores)("$name", ({ name, load, settings, store }) => {
  test.each([true, false])("excludes another client until the release, synced: %s", async (isSynced) => {
    const connect = await load();
    const { addresses } = await stores(store as "redis", isSynced);
    const [first, second] = [await connect(addresses, settings), await connect(addresses, settings)];
    const release = await first.acquire(name);
    let isReleased = false;
    const acquired = second.acquire(name).then((releaseSecond) => {
      expect(isReleased).toBe(true);
      return releaseSecond();
    });
    await (await first.acquire(`${name}, another`))();
    isReleased = true;
    await release();
    await acquired;
    await (await first.acquire(name))();
    await Promise.all([first.close(), second.close()]);
  });
});

test.each(storePairs)(
  "$holdfast.name locks several keys at once, and its server needs processor time",
  async (pair) => {
    const { addresses, watch } = await stores(pair.store, false);
    const used = await watch();
    const connect = await pair.holdfast.load();
    const client = await connect(addresses, pair.holdfast.settings);
    for (let time = 0; time < 20; time++) {
      const release = await client.acquireAll?.(["one", "two"]);
      const second = client.acquire("two");
      await release?.();
      await (await second)();
    }
    await client.close();
    const { cpuUs } = await used();
    if (pair.store === "sqlite") expect(cpuUs).toBeNaN();
    else expect(cpuUs).toBeGreaterThan(0);
  },
);
