import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { chartSvg } from "@holdfast/app-kit/charts";
import { describe, expect, test } from "vitest";
import type { History } from "../src/history/visit.ts";
import { judge } from "../src/judge.ts";
import { nemeses } from "../src/nemeses/index.ts";
import type { Nemesis } from "../src/nemeses/nemesis.ts";
import { timelineChart } from "../src/report/charts.ts";
import { reportFiguresOf } from "../src/report/figures.ts";
import { lineOf, summaryOf } from "../src/report/lines.ts";
import { filesOf, markdownOf } from "../src/report/markdown.ts";
import type { Result } from "../src/run.ts";
import { historyOf, visit } from "./visits.ts";

const lanes = { clients: ["c1", "c2"], nodes: ["n1", "n2", "n3"] };
const forgetting = nemeses.find(({ name }) => name === "crash-forgetting") as Nemesis;
const options = {
  ...{
    seconds: 30,
    nodes: 3,
    clients: 2,
    ttlMs: 1000,
    mode: "locks" as const,
    seed: 7,
    report: undefined,
    adapters: [],
  },
  nemeses: [forgetting],
};

function resultOf(history: History): Result {
  const slice = { number: 1, nemesis: forgetting, nodes: ["n2", "n3"], clients: [], durationMs: 1_000, seed: 1 };
  return { slice, history, findings: judge(forgetting, history), atMs: 0 };
}

const broken = resultOf(
  historyOf([visit("c1", 100, 600), visit("c2", 300, 700, { fenced: "refused" })], {
    sets: { plain: ["c2.300"], fenced: ["c1.100"] },
    bands: [{ lane: "n2", label: "killed <empty>", fromMs: 200, toMs: 250 }],
  }),
);
const violated = resultOf(historyOf([visit("c1", 100, 200)], { sets: { plain: [], fenced: [] } }));

describe("timelineChart()", () => {
  test("timelineChart() shows each lock with its token, each fault, and lost and refused writes", () => {
    const { timeline, description } = timelineChart(broken, lanes);
    expect(timeline.lanes).toEqual([...lanes.clients, ...lanes.nodes]);
    expect(description).toContain("less 1100.");
    const named = (name: string) => timeline.bars.filter((some) => some.name === name).flatMap(({ bars }) => bars);
    expect(named("fault")).toEqual([{ lane: "n2", label: "killed <empty>", fromMs: 200, toMs: 250 }]);
    expect(named("holds the lock")).toEqual([]);
    expect(named("two hold the lock at once")).toEqual([
      { lane: "c1", label: "+0", fromMs: 100, toMs: 600 },
      { lane: "c2", label: "+200", fromMs: 300, toMs: 700 },
    ]);
    const [lost, refused] = timeline.marks ?? [];
    expect(lost?.marks.map(({ lane }) => lane)).toEqual(["c1"]);
    expect(refused?.marks.map(({ lane }) => lane)).toEqual(["c2"]);
  });

  test("timelineChart() shows an attack during which no client had a lock", () => {
    const chart = timelineChart(resultOf(historyOf([])), lanes);
    expect(chartSvg({ rows: [], charts: [] }, chart)).not.toMatch(/NaN|Infinity/);
  });
});

describe("markdownOf()", () => {
  test("markdownOf() has a row with the figures of each nemesis, and its pictures", () => {
    const page = markdownOf(reportFiguresOf(options, [broken, broken]));
    expect(page).toContain("Nothing was violated");
    expect(page).toMatch(/\| \[crash-forgetting\]\(#crash-forgetting\) \|.*\| 2 \| 4 \| .* \| 2 \| 2 \| 0 \| 2 \|\n/);
    expect(page).toContain("](./timelines/crash-forgetting.svg)");
    expect(page).toContain("--seed 7 --nemesis crash-forgetting");
  });

  test("markdownOf() says what was violated", () => {
    const page = markdownOf(reportFiguresOf(options, [broken, violated]));
    expect(page).toMatch(/\*\*Violated\*\* in 1 of 2 attacks:\n\n- crash-forgetting: updates lost though/);
  });
});

describe("filesOf()", () => {
  test("filesOf() has the page, every picture that it shows, and the figures of both", () => {
    const figures = reportFiguresOf(options, [broken, violated]);
    const files = filesOf(figures);
    expect([...files.keys()]).toEqual(["README.md", "figures.json", "timelines/crash-forgetting.svg"]);
    expect(JSON.parse(files.get("figures.json") ?? "")).toEqual(figures);
    const shown = [...(files.get("README.md") ?? "").matchAll(/!\[.*?\]\(\.\/(.*?)\)/g)].map(([, file]) => file);
    expect(shown).toEqual(figures.charts.map(({ file }) => file));
  });

  test("filesOf() makes every file of the published report from its figures", async () => {
    const folder = join(import.meta.dirname, "../../../docs/generated/chaos");
    const figures = JSON.parse(await readFile(join(folder, "figures.json"), "utf8"));
    for (const [path, text] of filesOf(figures)) expect(await readFile(join(folder, path), "utf8")).toBe(text);
  });
});

test("lineOf() says what was violated, and summaryOf() how to draw it again", () => {
  expect(lineOf(broken)).not.toContain("VIOLATED");
  expect(lineOf(violated)).toContain("VIOLATED: updates lost though the set checks tokens: 1");
  expect(summaryOf(options, [broken])).toContain("Nothing was violated.");
  expect(summaryOf(options, [violated])).toMatch(/VIOLATED in 1 of 1 attacks[\s\S]*pnpm chaos .*--seed 7/);
});
