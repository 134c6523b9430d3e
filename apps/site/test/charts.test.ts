import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type BarChart, chartParts, type Figures, lightColors } from "@holdfast/app-kit/charts";
import MarkdownIt from "markdown-it";
import type { MarkdownRenderer } from "vitepress";
import { describe, expect, test } from "vitest";
import { drawPictures, loadDraw } from "../src/charts/pictures.ts";

const generated = join(import.meta.dirname, "../../../docs/generated");
const md = new MarkdownIt({ html: false }) as unknown as MarkdownRenderer;
drawPictures(md, chartParts);

const reports = ["benchmark"];
const pages = new Map(
  reports.map((report) => {
    const realPath = join(generated, report, "README.md");
    return [report, md.render(readFileSync(realPath, "utf8"), { realPath })];
  }),
);

function htmlOf(report: string): string {
  return pages.get(report) ?? "";
}

function figuresOf(report: string): Figures {
  return JSON.parse(readFileSync(join(generated, report, "figures.json"), "utf8")) as Figures;
}

describe("drawPictures()", () => {
  test("drawPictures() draws every picture of the reports, and leaves none to load", () => {
    for (const report of reports) {
      const html = htmlOf(report);
      expect(html).not.toContain("<img");
      for (const { file, title } of figuresOf(report).charts) {
        expect(html).toContain(`id="chart-${file.replace(".svg", "").replace(/\W+/g, "-")}"`);
        expect(html).toContain(`>${title}</title>`);
      }
    }
  });

  test("drawPictures() shows the median of each contender in each cell, in the chart and in its table", () => {
    const figures = figuresOf("benchmark");
    const html = htmlOf("benchmark");
    const cells = figures.rows.filter(({ workload }) => workload === "round-trips");
    expect(cells.length).toBeGreaterThan(20);
    for (const { pairsPerSecond } of cells) {
      const median = Math.round((pairsPerSecond as number[])[1] ?? 0).toLocaleString("en");
      expect(html).toContain(`>${median}</text>`);
      expect(html).toMatch(new RegExp(`<td>${median}( \\(|</td>)`));
    }
  });

  test("drawPictures() lets a reader choose one of the charts that follow each other", () => {
    const html = htmlOf("benchmark");
    const { rows, charts } = figuresOf("benchmark");
    const workloads = [...new Set(rows.map(({ workload }) => `charts/${workload}-`))];
    const expected = workloads
      .map((prefix) => charts.filter(({ file }) => file.startsWith(prefix)))
      .filter((some) => some.length > 1)
      .sort(([a], [b]) => charts.indexOf(a as BarChart) - charts.indexOf(b as BarChart))
      .map((some) => some.map(({ choice }) => choice));
    const choices = [...html.matchAll(/<fieldset>.*<\/fieldset>/g)].map(([fieldset]) =>
      [...fieldset.matchAll(/> ([^<]+)<\/label>/g)].map(([, choice]) => choice),
    );
    expect(choices.length).toBeGreaterThan(3);
    expect(choices).toEqual(expected);
    expect(html.match(/ checked>/g)).toHaveLength(choices.length);
  });

  test("drawPictures() names and describes each chart, with ids that are unique on the page", () => {
    for (const report of reports) {
      const html = htmlOf(report);
      const ids = [...html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id as string);
      expect(new Set(ids).size).toBe(ids.length);
      const svgs = [...html.matchAll(/<svg [^>]*>/g)].map(([svg]) => svg);
      expect(svgs.length).toBeGreaterThan(1);
      for (const svg of svgs) {
        const [, title, text] = /role="img" aria-labelledby="([^"]+)" aria-describedby="([^"]+)"/.exec(svg) ?? [];
        expect(ids).toEqual(expect.arrayContaining([title, text]));
      }
      for (const [, id] of html.matchAll(/url\(#([^)]+)\)/g)) expect(ids).toContain(id);
    }
  });

  test("drawPictures() leaves other pictures, and the pages of the search, as they are", () => {
    const picture = "![A picture](./charts/unknown.svg)";
    const realPath = join(generated, "benchmark/README.md");
    expect(md.render(picture, { realPath })).toContain("<img");
    expect(md.render("![A chart](./charts/contended-locks-s.svg)", { path: realPath })).toContain("<img");
    expect(md.render(picture, { realPath: join(generated, "compatibility.md") })).toContain("<img");
  });
});

test("loadDraw() loads the drawing of charts outside of Vite", async () => {
  const draw = await loadDraw();
  const figures = figuresOf("benchmark");
  for (const chart of figures.charts) expect(draw(figures, chart)).toEqual(chartParts(figures, chart));
});

test("charts.css has every colour for dark pages", () => {
  const css = readFileSync(join(import.meta.dirname, "../src/charts/charts.css"), "utf8");
  for (const name of Object.keys(lightColors)) expect(css).toContain(`  --chart-${name}: `);
});
