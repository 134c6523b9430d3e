import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { readmeExamples, runExample } from "@holdfast/testkit";
import { createNoopMeter, type MetricOptions } from "@opentelemetry/api";
import { expect, it } from "vitest";
import { observedWorld } from "./telemetry.ts";

const packageDirectory = fileURLToPath(new URL("..", import.meta.url));
const readme = `${packageDirectory}README.md`;

it("the README's examples run, the second with metrics on the console", async () => {
  const [first, second] = await readmeExamples(readme);
  expect(await runExample(first?.code ?? "", packageDirectory)).toMatch(/^measured and traced, fence \d+$/m);
  expect(await runExample(second?.code ?? "", packageDirectory)).toContain("holdfast.lock.hold.duration");
}, 60_000);

it("the README's table lists every metric with its type and unit, and no other", async () => {
  const made: string[] = [];
  const make = (type: string) => (name: string, options?: MetricOptions) => {
    made.push(`${name} ${type} ${options?.unit}`);
    return {} as never;
  };
  const meter = Object.assign(createNoopMeter(), {
    createHistogram: make("histogram"),
    createCounter: make("counter"),
    createUpDownCounter: make("up-down counter"),
  });
  observedWorld({ meter });
  const rows = (await readFile(readme, "utf8")).matchAll(
    /^\| `([\w.]+)` \| (histogram|[\w -]*counter) \| `(\S+)` \|/gm,
  );
  const listed = [...rows].map(([, name, type, unit]) => `${name} ${type} ${unit}`);
  expect(listed.sort()).toEqual(made.sort());
  expect(made).toHaveLength(9);
});
