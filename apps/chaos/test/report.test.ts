import { describe, expect, test } from "vitest";
import type { History } from "../src/history/visit.ts";
import { judge } from "../src/judge.ts";
import { nemeses } from "../src/nemeses/index.ts";
import type { Nemesis } from "../src/nemeses/nemesis.ts";
import { lineOf, summaryOf } from "../src/report/lines.ts";
import { markdownOf } from "../src/report/markdown.ts";
import { timelineOf } from "../src/report/timeline.ts";
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
    election: false,
    membership: false,
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

describe("timelineOf()", () => {
  test("timelineOf() draws each lock with its token, each fault, and lost and refused writes", () => {
    const svg = timelineOf(broken, lanes);
    expect(svg).toMatch(/^<svg .*>\n[\s\S]*<\/svg>\n$/);
    for (const lane of [...lanes.clients, ...lanes.nodes]) expect(svg).toContain(`>${lane}</text>`);
    expect(svg).toContain("tokens: 1100 + the number");
    for (const label of ["+0", "+200", "killed &lt;empty&gt;"]) expect(svg).toContain(`>${label}</text>`);
    const without = timelineOf(resultOf(historyOf([visit("c1", 100, 600)])), lanes);
    const shapes = (picture: string, color: string): number => picture.split(`fill="${color}"`).length;
    expect(shapes(svg, "#d62728") - shapes(without, "#d62728")).toBe(2); // both locks
    expect(shapes(svg, "#1f2937")).toBeGreaterThan(shapes(without, "#1f2937")); // the lost update
    expect(shapes(svg, "#7c3aed") - shapes(without, "#7c3aed")).toBe(1); // the refused write
  });

  test("timelineOf() draws an attack during which no client had a lock", () => {
    expect(timelineOf(resultOf(historyOf([])), lanes)).not.toMatch(/NaN|Infinity/);
  });
});

describe("markdownOf()", () => {
  test("markdownOf() has a row with the figures of each nemesis, and its picture", () => {
    const page = markdownOf(options, [broken, broken]);
    expect(page).toContain("Nothing was violated");
    expect(page).toMatch(/\| \[crash-forgetting\]\(#crash-forgetting\) \|.*\| 2 \| 4 \| .* \| 2 \| 2 \| 0 \| 2 \|\n/);
    expect(page).toContain("](./timelines/crash-forgetting.svg)");
    expect(page).toContain("--seed 7 --nemesis crash-forgetting");
  });

  test("markdownOf() says what was violated", () => {
    const page = markdownOf(options, [broken, violated]);
    expect(page).toMatch(/\*\*Violated\*\* in 1 of 2 attacks:\n\n- crash-forgetting: updates lost though/);
  });
});

test("lineOf() says what was violated, and summaryOf() how to draw it again", () => {
  expect(lineOf(broken)).not.toContain("VIOLATED");
  expect(lineOf(violated)).toContain("VIOLATED: updates lost though the set checks tokens: 1");
  expect(summaryOf(options, [broken])).toContain("Nothing was violated.");
  expect(summaryOf(options, [violated])).toMatch(/VIOLATED in 1 of 1 attacks[\s\S]*pnpm chaos .*--seed 7/);
});
