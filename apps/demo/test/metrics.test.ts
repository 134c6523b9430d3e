import { Redlock } from "@holdfast/core";
import { memoryNode } from "@holdfast/memory";
import { createCleanup } from "@holdfast/testkit/cleanup";
import { afterEach, describe, expect, it } from "vitest";
import { addUp, scrape, serveMetrics } from "../src/metrics.ts";

const cleanup = createCleanup();
afterEach(() => cleanup.run());

describe("the metrics of the demo", () => {
  it("scrape() adds up the metrics of several endpoints", async () => {
    const node = memoryNode();
    const urls: string[] = [];
    for (const name of ["w1", "w2"]) {
      const { observer, url } = await serveMetrics(cleanup);
      await new Redlock([node], { observer }).using(name, () => {});
      urls.push(url);
    }
    const { signal } = new AbortController();
    const text = await scrape(urls, signal);
    expect(text).toMatch(/^# TYPE holdfast_lock_hold_duration histogram$/m);
    expect(text).toMatch(/^holdfast_lock_acquire_duration_count\{holdfast_lock_outcome="acquired"\} 2$/m);
    expect(text).toMatch(/^holdfast_lock_count 0$/m);
  });

  it("addUp() keeps series that only some texts have, and the comments once", () => {
    const head = "# HELP a All of it.\n# TYPE a counter\n";
    const texts = [
      `${head}a{x="1"} 1\na{x="2 3"} 2.5\n`,
      "# no registered metrics",
      `${head}a{x="2 3"} 1e-1\na{x="4"} 4\n`,
    ];
    expect(addUp(texts)).toBe(`${head}a{x="1"} 1\na{x="2 3"} 2.6\na{x="4"} 4\n`);
  });
});
