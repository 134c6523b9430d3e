import { describe, expect, test } from "vitest";
import type { History } from "../src/history/visit.ts";
import { judge, type Result } from "../src/judge.ts";
import { nemeses } from "../src/nemeses/index.ts";
import type { Nemesis } from "../src/nemeses/nemesis.ts";
import { eventsOf } from "../src/report/events.ts";
import { lineOf, summaryOf } from "../src/report/lines.ts";
import { markdownOf } from "../src/report/markdown.ts";
import { historyOf, visit } from "./visits.ts";

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

test("eventsOf() lists each lock with its token, each fault, and lost and refused writes, in their order", () => {
  expect(eventsOf(broken)).toEqual([
    { who: "c1", what: "holds the lock while another does: token +0", fromMs: 100, toMs: 600 },
    { who: "n2", what: "killed <empty>", fromMs: 200, toMs: 250 },
    { who: "c2", what: "holds the lock while another does: token +200", fromMs: 300, toMs: 700 },
    { who: "c1", what: "update lost, where tokens are not checked", fromMs: 600, toMs: 600 },
    { who: "c2", what: "write refused, where tokens are checked", fromMs: 700, toMs: 700 },
  ]);
});

describe("markdownOf()", () => {
  test("markdownOf() has a row with the figures of each nemesis, and what happened in the worst attack", () => {
    const page = markdownOf(options, [broken, broken]);
    expect(page).toContain("Nothing was violated");
    expect(page).toMatch(/\| \[crash-forgetting\]\(#crash-forgetting\) \|.*\| 2 \| 4 \| .* \| 2 \| 2 \| 0 \| 2 \|\n/);
    expect(page).toContain("| 0.30 s | 0.70 s | c2 | holds the lock while another does: token +200 |");
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
