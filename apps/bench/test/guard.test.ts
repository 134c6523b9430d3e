import { createCleanup } from "@holdfast/testkit/cleanup";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { bundleProgram } from "../src/bundle.ts";
import { contenderNamed } from "../src/contenders/index.ts";
import { type Crew, createCrew } from "../src/crew.ts";
import type { Figures, MeasureName } from "../src/measure/measures.ts";
import { quick } from "../src/scale.ts";
import { createServers, type Servers } from "../src/servers.ts";
import { counts } from "../src/workloads/counts.ts";
import { limits } from "./limits.ts";

const cleanup = createCleanup();
let crew: Crew;
let servers: Servers;

beforeAll(async () => {
  crew = createCrew(await bundleProgram(cleanup), 4);
  cleanup.defer(() => crew.close());
  servers = createServers(cleanup);
  await servers.first(5);
});

afterAll(() => cleanup.run());

describe.each(Object.keys(limits))("%s", (name) => {
  test.each(counts.cases)("takes no more than its limits, $name", async ({ name: caseName, run }) => {
    const contender = contenderNamed(name);
    const worker = (number: number) => crew.worker(contender, number);
    const figures = await run({ contender, scale: quick, servers, prefix: "guarded", worker });
    expect(excessOf(figures, limits[name]?.[caseName] ?? {})).toEqual({});
  });
});

/** What is above its limit, or has none. */
function excessOf(figures: Figures, most: Figures): Record<string, string> {
  const names = Object.keys(figures) as MeasureName[];
  const excessive = names.filter((name) => !((figures[name] as number) <= (most[name] ?? Number.NaN)));
  return Object.fromEntries(excessive.map((name) => [name, `${figures[name]}, not ${most[name]} at the most`]));
}
