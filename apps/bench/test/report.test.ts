import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { goalLines } from "../src/report/goals.ts";
import { pageOf } from "../src/report/page.ts";
import { storesPageOf } from "../src/report/stores-page.ts";
import { groupBy, type MeasuredCell, measuredCells } from "../src/report/summary.ts";
import { valueText } from "../src/report/text.ts";
import { writeReport } from "../src/report/write.ts";
import { contended } from "../src/workloads/contended.ts";
import { uncontended } from "../src/workloads/uncontended.ts";
import { recording, storesRecording } from "./recording.ts";

const [at100] = measuredCells(uncontended, recording.slices) as [MeasuredCell];
const [inProcesses] = measuredCells(contended, recording.slices) as [MeasuredCell];

test("MeasuredCell.value() has medians with quartiles, or the worst round", () => {
  const quartiles = at100.value("holdfast/ioredis", "pairsPerSecond");
  expect(quartiles).toEqual({ low: 18_750, median: 22_500, high: 26_250 });
  expect(inProcesses.value("holdfast/ioredis", "waitMaxMs")?.median).toBe(900);
  expect(inProcesses.value("redlock 4", "waitMaxMs")).toBeUndefined();
});

test("MeasuredCell.ratio() compares medians", () => {
  expect(at100.ratio("holdfast/ioredis", "raw ioredis", "pairsPerSecond")).toBe(6);
  expect(at100.ratio("holdfast/ioredis", "redlock 4", "pairsPerSecond")).toBeUndefined();
});

test("MeasuredCell.ranked() has the best first, and those without a value last", () => {
  const names = (measure: "pairsPerSecond" | "serverCpuUs"): string[] => at100.ranked(measure).map(({ name }) => name);
  expect(names("pairsPerSecond").at(0)).toBe("holdfast/ioredis");
  expect(names("pairsPerSecond").at(-1)).toBe("redis-semaphore");
  expect(names("serverCpuUs").slice(0, 3)).toEqual(["holdfast/ioredis", "redis-semaphore", "redlock 5 beta"]);
  expect(names("serverCpuUs")).toHaveLength(7);
});

test("MeasuredCell.bestPeer() is the fastest other library with default settings, over any client", () => {
  expect(at100.bestPeer("pairsPerSecond")?.name).toBe("redlock-universal/node-redis");
  expect(inProcesses.bestPeer("locksPerSecond")).toBeUndefined();
});

test("goalLines() has a row for each cell, with the ratio, the goal, and the ratios of the bounds", () => {
  const [title, head, row] = goalLines(recording.slices).split("\n");
  expect(title).toBe("Pairs a second");
  expect(head).toMatch(/^ +holdfast\/ioredis +ratio +goal +by hand +batched +ratio to$/);
  expect(row).toMatch(
    /^5 servers, 100 at a time +22,500 +6\.00 +≥ 5\.00 +reached +0\.80 +2\.00 +redlock-universal\/node-redis$/,
  );
});

test("goalLines() names goals that are not reached, for measures of which less is better, too", () => {
  const slower = recording.slices.map((slice) => ({
    ...slice,
    figures: { ...slice.figures, cpuUs: slice.contender === "holdfast/ioredis" ? 30 : 100 },
  }));
  const lines = goalLines(slower);
  expect(lines).toMatch(/^5 servers, 100 at a time +30\.0 +0\.30 +≤ 0\.20 +not reached /m);
  expect(lines).toMatch(/round trips of 0\.5 ms +135 +0\.90 +≥ 0\.97 +not reached/);
});

test("pageOf() starts with the goals, and then covers round trips and speed", () => {
  const page = pageOf(recording);
  const titles = [...page.matchAll(/^##? (.*)$/gm)].map(([, title]) => title);
  expect(titles.slice(0, 5)).toEqual([
    "Benchmark: which library, on how many servers, how fast, and what do I get for it?",
    "Goals, reached or not",
    "With a network",
    "Without a network",
    "The first 500 pairs of a process",
  ]);
  expect(page).toContain("|  | pairs/s | ÷ redlock-universal/node-redis | pair p50 |");
  expect(page).toContain("| **holdfast/ioredis** | 22,500 (18,750 – 26,250) | 6.00 |");
  expect(page).toContain("| 5 servers, 100 at a time | 22,500 | 6.00 | ≥ 5.00 | reached | 0.80 | 2.00 |");
  expect(page).toContain("| **holdfast/ioredis** | 500 | 2.00 | 260 ms |");
  expect(page).toContain("| **holdfast/ioredis** | 1.50 ms | 1.50 | 5.00 ms | 40 |");
  expect(page).toContain('- redlock 4, 1 slice: hung: "contend" did not end within 25 s');
  expect(page).toContain("- no idle loops: `chrt` is missing");
  expect(page).toContain("| processor | An Imaginary One, 2 cores |");
});

test("writeReport() writes the page, and a row of figures for each contender in a cell", async () => {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-bench-test-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const page = await readFile(await writeReport("libraries", folder, recording), "utf8");
  const { run, rows } = JSON.parse(await readFile(join(folder, "figures.json"), "utf8"));
  expect(run).toMatchObject({ command: "pnpm bench --quick", repeated: 3 });
  expect(rows).toContainEqual({
    ...{
      workload: "uncontended",
      cell: "5 servers, 100 at a time",
      contender: "holdfast/ioredis",
      rounds: 2,
      pairsPerSecond: [18_750, 22_500, 26_250],
    },
    ...{ clientCpuUs: [12.5, 15, 17.5], serverCpuUs: [20, 20, 20] },
  });
  expect(page).toBe(pageOf(recording));
});

test("valueText() writes three digits, and whole numbers whole", () => {
  const formats = ["ms", "whole", "ratio", "digits"] as const;
  const texts = (value: number): string[] => formats.map((format) => valueText(value, format));
  expect(texts(0.123456)).toEqual(["0.123 ms", "0", "0.12", "0.123"]);
  expect(texts(12_345.6)).toEqual(["12,346 ms", "12,346", "12345.60", "12,346"]);
  expect(texts(0)).toEqual(["0 ms", "0", "0.00", "0"]);
});

test("storesPageOf() has each store beside the usual way to lock there, with the ratio of the two in each round", () => {
  const page = storesPageOf(storesRecording);
  const titles = [...page.matchAll(/^##? (.*)$/gm)].map(([, title]) => title);
  expect(titles).toEqual([
    "Benchmark of single stores: what does a lock cost in the store that I have?",
    "At a glance",
    "Names that nobody else wants",
    "Two names in one lock",
    "What the columns mean",
    "Machine",
  ]);
  expect(page).toContain("| **PostgreSQL** | 750 · 0.25 |");
  expect(page).toContain("| **etcd** | – · – |");
  expect(page).toContain("| **holdfast/postgres** | 750 (625 – 875) | 0.25 |");
  expect(page).toContain("| pg_advisory_lock | 3,000 (2,500 – 3,500) |  |");
  expect(page).toContain("|  | pairs/s | pair p50 |"); // only Holdfast locks two names
  expect(page).toContain("- holdfast/etcd, 1 slice: no leader");
});

test("the first page of the site quotes the published report", async () => {
  const read = (file: string) => readFile(join(import.meta.dirname, "../../..", file), "utf8");
  const [page, report] = [await read("apps/site/pages/index.md"), await read("docs/generated/benchmark/README.md")];
  const [pairs = ""] = /^### Pairs a second$.*?^###/ms.exec(report) ?? [];
  const cells = [...pairs.matchAll(/^\| (\d servers?), \d+ at a time \| (\S+) \| (\S+) \|/gm)];
  expect(cells).toHaveLength(9);
  for (const [servers, some] of groupBy(cells, ([, servers]) => servers)) {
    const figures = some.map(([, , value, ratio]) => `${value} · ${ratio}`);
    expect(page).toContain(`| ${servers} | ${figures.join(" | ")} |`);
  }
});
