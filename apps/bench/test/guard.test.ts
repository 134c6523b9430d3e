import { isNightly } from "@holdfast/testkit";
import { createCleanup } from "@holdfast/testkit/cleanup";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { contenderNamed } from "../src/contenders/index.ts";
import type { Figures, MeasureName } from "../src/measure/measures.ts";
import { createProcessPool, type ProcessPool } from "../src/process-pool.ts";
import { quick } from "../src/scale.ts";
import { createServers } from "../src/servers.ts";
import { createStores } from "../src/stores.ts";
import { counts } from "../src/workloads/counts.ts";
import { limits } from "./limits.ts";

const cleanup = createCleanup();
const servers = createServers(cleanup);
const stores = createStores(cleanup);
let pool: ProcessPool;

beforeAll(async () => {
  pool = await createProcessPool(4);
  cleanup.defer(() => pool.clear());
  await servers.at(5);
});

afterAll(() => cleanup.run());

/** The clients share the code that decides how much is sent: nightly, all are counted. */
const counted = Object.keys(limits).filter((name) => isNightly || name !== "holdfast/node-redis");

describe.each(counted)("%s", (name) => {
  test.each(counts.cells)("takes no more than its limits, $name", async ({ name: cell, measure }) => {
    const contender = contenderNamed(name);
    const process = (number: number) => pool.process(contender, number);
    let excess: Record<string, string> = {};
    for (let round = 0; round < rounds; round++) {
      const figures = await measure({ contender, scale: quick, servers, stores, keyPrefix: "guarded", process });
      excess = excessOf(figures, limits[name]?.[cell] ?? {});
      if (Object.keys(excess).length === 0) break;
    }
    expect(excess).toEqual({});
  });
});

/** On a busy machine, what is written in one tick may be read in several, so that a count is too high, never too low. */
const rounds = 5;

/** The figures above their limits, or without any. */
function excessOf(figures: Figures, most: Figures): Record<string, string> {
  const names = Object.keys(figures) as MeasureName[];
  const excessive = names.filter((name) => !((figures[name] as number) <= (most[name] ?? Number.NaN)));
  return Object.fromEntries(excessive.map((name) => [name, `${figures[name]}, not ${most[name]} at most`]));
}
