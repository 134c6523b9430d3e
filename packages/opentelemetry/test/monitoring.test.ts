import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { dashboard, exportedSeries, rules, targets, withUnits } from "./monitoring.ts";

test("the dashboard and the alerts name only metrics and attributes that were exported", async () => {
  const series = await exportedSeries();
  const names = series.map(([name]) => /^\w+/.exec(name)?.[0] ?? "");
  const labels = series.flatMap(([name]) => [...name.matchAll(/(\w+)="/g)].map(([, label]) => label));
  const known = new Set([...names, ...names.map(withUnits), ...labels]);
  const queries = targets.map(({ expr, legendFormat = "" }) => `${expr} ${legendFormat}`).join("\n");
  const variables = JSON.stringify(dashboard).match(/label_values\(\w+/g) ?? [];
  const words = `${queries} ${variables} ${await readFile(rules, "utf8")}`
    .replaceAll("(_seconds)?", "")
    .match(/\b(holdfast_\w+|error_type)\b/g);
  expect(words?.length).toBeGreaterThan(60);
  expect([...new Set(words)].filter((word) => !known.has(word))).toEqual([]);

  const family = (name: string) => name.replace(/_(bucket|count|sum)$/, "");
  expect([...new Set(names.map(family))].filter((name) => !queries.includes(name))).toEqual([]);
});

test("the panels of the dashboard do not overlap", () => {
  const cells = dashboard.panels.flatMap(({ gridPos: { x, y, w, h } }) =>
    Array.from({ length: w * h }, (_, cell) => `${x + (cell % w)} ${y + Math.floor(cell / w)}`),
  );
  expect(new Set(cells).size).toBe(cells.length);
});
