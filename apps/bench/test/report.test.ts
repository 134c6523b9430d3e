import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { markdownOf } from "../src/report/markdown.ts";
import { summaryOf } from "../src/report/summary.ts";
import { findingsOf } from "../src/report/targets.ts";
import { quartilesText, ratioText, valueText } from "../src/report/text.ts";
import { writeReport } from "../src/report/write.ts";
import { recording } from "./recording.ts";

const summary = summaryOf(recording.turns);
const uncontended = { workload: "uncontended", case: "5 nodes, 100 at a time", measure: "opsPerSecond" } as const;
const contended = { workload: "contended", case: "5 processes × 10 workers" } as const;

test("Summary.of() has medians with quartiles, and the worst of what may not happen once", () => {
  const ours = { contender: "holdfast/ioredis" };
  expect(summary.of({ ...uncontended, ...ours })).toEqual({ low: 18_750, median: 22_500, high: 26_250 });
  expect(summary.of({ ...contended, ...ours, measure: "waitMaxMs" })?.median).toBe(900);
  expect(summary.of({ ...contended, contender: "redlock 4", measure: "waitMaxMs" })).toBeUndefined();
});

test("Summary.ratio() compares within each round, so that it does not matter that one was slow", () => {
  const ours = { ...uncontended, contender: "holdfast/ioredis" };
  expect(summary.ratio(ours, { ...ours, contender: "raw ioredis" })).toEqual({ low: 6, median: 6, high: 6 });
});

test("Summary.ranked() has the best first, whichever end is the better one", () => {
  const names = (measure: "opsPerSecond" | "clientCpuUs"): string[] =>
    summary.ranked({ ...uncontended, measure }).map(({ name }) => name);
  const order = ["holdfast/ioredis", "raw ioredis", "redlock 5 beta", "redis-semaphore"];
  expect(names("opsPerSecond")).toEqual(order);
  expect(names("clientCpuUs")).toEqual(order);
});

test("findingsOf() compares ours with the best peer, and says what was not measured", () => {
  const findings = findingsOf(summary);
  const found = (title: string, contender: string) =>
    findings.find((one) => one.title === title && one.contender === contender);
  expect(found("100 at a time, 5 nodes: pairs/s", "holdfast/ioredis")).toMatchObject({
    ...{ against: "redlock 5 beta", wanted: "≥ 6.00", measured: "7.50", isReached: true },
  });
  expect(found("100 at a time, 5 nodes: client CPU µs", "holdfast/ioredis")).toMatchObject({ isReached: true });
  expect(found("5 processes × 10 workers: longest wait", "holdfast/ioredis")).toMatchObject({
    ...{ wanted: "≤ 500 ms", measured: "900 ms", isReached: false },
  });
  const locks = found("5 processes × 10 workers: locks/s", "holdfast/ioredis");
  expect(locks).toMatchObject({ measured: undefined, isReached: undefined, tuned: "3.00 (redlock 4, tuned)" });
  expect(found("1 at a time, 5 nodes: pairs/s", "holdfast/ioredis")).toMatchObject({ isReached: undefined });
});

test("markdownOf() tells the machine, the targets, each case with the best first, and what went wrong", () => {
  const page = markdownOf(recording);
  expect(page).toContain("| processor | An Imaginary One, 2 cores |");
  expect(page).toContain(
    "| 100 at a time, 5 nodes: pairs/s | holdfast/ioredis | redlock 5 beta | ≥ 6.00 | 7.50 | yes |  |",
  );
  expect(page).toContain("| **holdfast/ioredis** | 22,500 (18,750 – 26,250) | 6.00 | 7.50 | 15.0 |");
  expect(page).toContain('- redlock 4, 1 turn: hung: no end of "contend" within 25 s');
  expect(page).toContain("| pairs/s, by nodes | 1 | 15 |");
  expect(page).toContain("| longest wait | the longest that anybody waited");
});

test("writeReport() writes the page, all figures, and every chart that the page shows", async () => {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-bench-test-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const page = await readFile(await writeReport(folder, recording), "utf8");
  expect(JSON.parse(await readFile(join(folder, "figures.json"), "utf8"))).toEqual(recording);
  const shown = [...page.matchAll(/\]\((charts\/.*?\.svg)\)/g)].map(([, file]) => file as string);
  expect(shown.length).toBeGreaterThan(2);
  expect(await readdir(join(folder, "charts"))).toEqual(shown.map((file) => file.slice("charts/".length)).sort());
  for (const file of shown) {
    const svg = await readFile(join(folder, file), "utf8");
    expect(svg).toMatch(/^<svg /);
    expect(svg).toContain("holdfast/ioredis");
    expect(svg).not.toContain("NaN");
  }
});

test("valueText() writes three digits, and whole numbers whole", () => {
  const formats = ["ms", "whole", "ratio", "digits"] as const;
  const texts = (value: number): string[] => formats.map((format) => valueText(value, { format }));
  expect(texts(0.123456)).toEqual(["0.123 ms", "0", "0.12", "0.123"]);
  expect(texts(12_345.6)).toEqual(["12,346 ms", "12,346", "12345.60", "12,346"]);
  expect(texts(0)).toEqual(["0 ms", "0", "0.00", "0"]);
});

test("quartilesText() leaves quartiles out that say nothing", () => {
  expect(quartilesText({ low: 1.001, median: 1.002, high: 1.003 }, { format: "ratio" })).toBe("1.00");
  expect(quartilesText({ low: 1, median: 2, high: 3 }, { format: "whole" })).toBe("2 (1 – 3)");
});

test("ratioText() has as many decimals as matter", () => {
  expect([0.0412, 1 / 8, 6.4, 123.4].map(ratioText)).toEqual(["0.041", "0.125", "6.40", "123"]);
});
