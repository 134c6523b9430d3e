import { describe, expect, test } from "vitest";
import { type BarChart, chartParts, chartSvg, type Figures, valueText } from "../src/charts/index.ts";

const bars: BarChart = {
  ...{ type: "bars", file: "charts/pairs.svg", title: "Pairs a second", key: "Bars are medians." },
  notes: { mine: "T V" },
  panels: [
    {
      ...{ title: "1 at a time", where: { cell: "one" }, name: "library", value: "pairs" },
      ...{ format: "whole", first: "largest" },
    },
  ],
};
const figuresWith = (median: number): Figures => ({
  kinds: { mine: "own", theirs: "other" },
  charts: [bars],
  rows: [
    { cell: "one", library: "mine", pairs: [900, 1_000, 1_100] },
    { cell: "one", library: "theirs", pairs: [median, median, median] },
    { cell: "one", library: "broken", pairs: [null, null, null] },
    { cell: "two", library: "mine", pairs: 77_777 },
  ],
});
const pictureOf = (figures: Figures) => chartParts(figures, bars).pictures[0]?.svg ?? "";

describe("chartParts()", () => {
  test("chartParts() draws, tells and tabulates the median and the quartiles of each bar, the best first", () => {
    const { pictures, table } = chartParts(figuresWith(2_500), bars);
    expect(textsIn(pictures[0]?.svg).filter((text) => text !== "1 at a time")).toEqual([
      ...["theirs", "2,500", "mine", "T V", "1,000", "broken", "–"],
    ]);
    expect(pictures[0]?.text).toBe("1 at a time: theirs 2,500, mine 1,000 (900 – 1,100), broken –.");
    expect(table).toEqual([
      ["", "1 at a time"],
      ["theirs", "2,500"],
      ["mine", "1,000 (900 – 1,100)"],
      ["broken", "–"],
    ]);
  });

  test("chartParts() draws another chart for another figure", () => {
    expect(pictureOf(figuresWith(2_500))).toBe(pictureOf(figuresWith(2_500)));
    expect(pictureOf(figuresWith(2_501))).not.toBe(pictureOf(figuresWith(2_500)));
  });

  test("chartParts() shows only the bars that a chart names", () => {
    const { table } = chartParts(figuresWith(1), { ...bars, only: ["mine"] });
    expect(table.map(([name]) => name)).toEqual(["", "mine"]);
  });

  test("chartParts() takes every colour from a variable of the page, and chartSvg() none", () => {
    const figures = figuresWith(1);
    const colors = chartParts(figures, bars).pictures.flatMap(({ svg }) => colorsIn(svg));
    expect(colors.length).toBeGreaterThan(5);
    expect(colors.filter((color) => !/^(var\(--chart-[\w-]+, #\w+\)|none)$/.test(color))).toEqual([]);
    expect(chartSvg(figures, bars)).not.toContain("var(");
  });
});

test("chartSvg() draws the same picture each time, without NaN", () => {
  const svg = chartSvg(figuresWith(1), bars);
  expect(svg).toMatch(/^<svg .*>\n[\s\S]*<\/svg>\n$/);
  expect(svg).not.toMatch(/NaN|Infinity|undefined/);
  expect(chartSvg(figuresWith(1), bars)).toBe(svg);
});

test("valueText() writes three digits, and whole numbers whole", () => {
  const formats = ["ms", "whole", "ratio", "digits"] as const;
  const texts = (value: number): string[] => formats.map((format) => valueText(value, format));
  expect(texts(0.123456)).toEqual(["0.123 ms", "0", "0.12", "0.123"]);
  expect(texts(12_345.6)).toEqual(["12,346 ms", "12,346", "12345.60", "12,346"]);
  expect(texts(0)).toEqual(["0 ms", "0", "0.00", "0"]);
});

function textsIn(svg = ""): string[] {
  return [...svg.matchAll(/>([^<>\n]+)<\/text>/g)].map(([, text]) => text as string);
}

function colorsIn(svg: string): string[] {
  return [...svg.matchAll(/(?:fill|stroke)="([^"]*)"/g)].map(([, color]) => color as string);
}
