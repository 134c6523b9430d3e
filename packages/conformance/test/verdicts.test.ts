import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, test } from "vitest";
import { reasonsOf } from "../src/settings.ts";
import { bareNode, correctNodes, limitedNode, wrongNode } from "./correct-nodes.ts";
import { childTimeoutMs, type Result, runVitest } from "./vitest-child.ts";

describe("describeLockNode()", () => {
  let results: readonly Result[];
  let output: string;
  const reports = new Map<string, string>();
  const titles = (node: string, status: Result["status"]): string[] =>
    results.filter((result) => result.ancestorTitles[0] === node && result.status === status).map(({ title }) => title);
  const reportOn = (node: string): string =>
    [...reports.values()].find((report) => report.startsWith(`### Conformance of ${node}\n`)) ?? "none";

  beforeAll(async () => {
    const folder = await mkdtemp(join(tmpdir(), "holdfast-reports-"));
    try {
      const suites = fileURLToPath(new URL("./child", import.meta.url));
      ({ results, output } = await runVitest(suites, { HOLDFAST_CONFORMANCE_REPORT: folder }));
      for (const file of await readdir(folder)) reports.set(file, await readFile(join(folder, file), "utf8"));
    } finally {
      await rm(folder, { recursive: true });
    }
  }, childTimeoutMs);

  for (const { name } of correctNodes) {
    test(`passes ${name}`, () => {
      expect(titles(name, "passed").length).toBeGreaterThan(80);
      expect(titles(name, "failed")).toEqual([]);
    });
  }

  test("skips no test, whatever limits are declared", () => {
    expect(results.filter(({ status }) => status !== "passed" && status !== "failed")).toEqual([]);
  });

  test("tests the replacement of each declared limit, under the declared reason", () => {
    const topics = new Set(results.map(({ ancestorTitles }) => ancestorTitles[1]));
    for (const [limit, reason] of reasonsOf(limitedNode.cannot ?? {})) {
      expect(topics).toContain(`instead of ${limit}: ${reason}`);
    }
  });

  test("reports passed facts by topic, and the offers and limits of the node", () => {
    const report = reportOn(limitedNode.name);
    expect(report).toMatch(/^Passed: (\d+) of \1 facts, by `@holdfast\/conformance` \d/m);
    expect(report).toMatch(/^\| acquire \| (\d+) of \1 \| passed \|$/m);
    expect(report).toMatch(/^\| `watch`: .* \| yes \|$/m);
    expect(report).toContain("| `takeover` | cannot: claims are not passed on |");
    expect(reportOn(bareNode.name)).toMatch(/^\| `watch`: .* \| not offered \|$/m);
  });

  test("reports failed facts by name", () => {
    const report = reportOn(wrongNode.name);
    const failed = titles(wrongNode.name, "failed");
    expect(failed).not.toEqual([]);
    expect(report).toContain("**Not passed**: ");
    expect(report).toMatch(/^\| release \| \d+ of \d+ \| \*\*not passed\*\* \|$/m);
    const listed = report.match(/^- .* \(failed\)/gm)?.sort();
    expect(listed).toEqual(failed.map((title) => `- ${title} (failed)`).sort());
    expect(report).toContain("| outages and connections | not tested: it lives in this process |");
  });

  test("leads with the likely mistake of a broken node, in the report and in the output", () => {
    const mistake = "released is always true, or a second release is an error";
    const [, , lead] = reportOn(wrongNode.name).split("\n\n");
    expect(lead).toMatch(/^The likely mistake/);
    expect(reportOn(wrongNode.name)).toContain(`1. ${mistake} (`);
    const failures = output.slice(output.search(/^.*Failed Suites 1/m));
    const [, first] = failures.split(/^ FAIL {2}/m);
    expect(first).toMatch(
      /^.* > a node that returns \| released\nError: a node that returns \| released failed \d+ of \d+/,
    );
    expect(first).toContain(`\n1. ${mistake} (`);
    expect(first).not.toContain("❯");
  });
});
