import { Redlock as SesamecareRedlock } from "@sesamecare-oss/redlock";
import { Redis } from "ioredis";
import { defaultTimeoutOptions, Mutex } from "redis-semaphore";
import { IoredisAdapter, RedLock, SimpleLock } from "redlock-universal";
import Redlock4 from "redlock4";
import Redlock5 from "redlock5";
import { expect, test } from "vitest";
import type { NodeSets } from "../../../packages/core/src/node-sets.ts";
import { parseRedlockOptions } from "../../../packages/core/src/options.ts";
import { parseOptions } from "../../../packages/redis/src/options.ts";
import { optionRows, pageAbout } from "./pages.ts";

type Defaults = Readonly<Record<string, unknown>>;

const client = new Redis({ lazyConnect: true });
const adapter = new IoredisAdapter(client);
const { timeout, keyPrefix } = hidden<{ timeout: number; keyPrefix: string }>(adapter, "options");

/** The defaults in each library's own objects, by the page about it. */
const theirs: Readonly<Record<string, Defaults>> = {
  "from-redlock": { ...new Redlock4([client]), ...new Redlock5([client]).settings },
  "from-sesamecare-redlock": { ...new SesamecareRedlock([client]).settings },
  "from-redis-semaphore": {
    ...defaultTimeoutOptions,
    refreshInterval: hidden(new Mutex(client, "any"), "_refreshTimeInterval"),
  },
  "from-redlock-universal": {
    ...new RedLock({ adapters: [adapter, adapter, adapter], key: "any" }).getConfig(),
    "retryDelay of createLock": new SimpleLock({ adapter, key: "any" }).getConfig().retryDelay,
    "retryDelay of createRedlock": new RedLock({ adapters: [adapter], key: "any" }).getConfig().retryDelay,
    "timeout of an adapter": timeout,
    "keyPrefix of an adapter": JSON.stringify(keyPrefix),
  },
};
const ours: Defaults = {
  ...parseRedlockOptions({}, { nodes: new Array(3).fill({}), isJoint: false, majority: 2 } as unknown as NodeSets)
    .settings,
  prefix: JSON.stringify(parseOptions({}, "any").prefix),
};

test.each(Object.entries(theirs))(
  "the options table of %s.md has the defaults of the objects",
  async (name, defaults) => {
    const rows = await optionRows(pageAbout(name));
    expect(rows.length).toBeGreaterThan(5);
    const told = rows.flatMap((row) => [
      { side: "theirs", option: row.theirs.replace(/ \(\d\)$/, ""), value: row.theirDefault, defaults },
      { side: "ours", option: row.ours, value: row.ourDefault, defaults: ours },
    ]);
    for (const { side, option, value, defaults } of told) {
      if (value === "–") continue;
      expect({ side, option, value }).toEqual({ side, option, value: String(defaults[option]) });
    }
  },
);

/** Reads a private property. */
function hidden<T>(object: object, name: string): T {
  return (object as Readonly<Record<string, T>>)[name] as T;
}
