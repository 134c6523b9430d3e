/** Replaces the pictures of reports by charts that are drawn from the same figures, as parts of the page. */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import type { BarChart, ChartParts, Figures } from "@holdfast/app-kit/charts";
import { tsImport } from "tsx/esm/api";
import type { MarkdownRenderer } from "vitepress";
import { figureHtml, type PageChart } from "./html.ts";

/** Draws a chart. */
export type Draw = (figures: Figures, chart: BarChart) => ChartParts;

/**
 * Loads what draws charts. VitePress bundles its configuration, and leaves the imports of other packages to Node.js, which
 * does not run TypeScript.
 */
export async function loadDraw(): Promise<Draw> {
  const charts: typeof import("@holdfast/app-kit/charts") = await tsImport("@holdfast/app-kit/charts", import.meta.url);
  return charts.chartParts;
}

/** The part of markdown-it's tokens that is used here. */
type Token = MarkdownToken & { readonly children: readonly MarkdownToken[] | null };

interface MarkdownToken {
  readonly type: string;
  attrGet(name: string): string | null;
}

/**
 * A plugin of markdown-it: replaces each picture of a chart that `figures.json`, of its report, lists. Of pictures
 * that follow each other, a reader chooses one. The index of the search does without charts.
 */
export function drawPictures(md: MarkdownRenderer, draw: Draw): void {
  md.core.ruler.push("draw_pictures", (state) => {
    const { realPath } = state.env as { readonly realPath?: string };
    if (realPath === undefined) return;
    const drawn: typeof state.tokens = [];
    let run: PageChart[] = [];
    const endRun = (): void => {
      if (run.length === 0) return;
      const html = new state.Token("html_block", "", 0);
      html.content = figureHtml(run);
      drawn.push(html);
      run = [];
    };
    for (let index = 0; index < state.tokens.length; index++) {
      const source = pictureAt(state.tokens, index);
      const found = source === undefined ? undefined : chartOf(join(dirname(realPath), source));
      if (found !== undefined) {
        run.push({ ...draw(found.figures, found.chart), id: idOf(found.chart.file) });
        index += 2; // the picture and the end of its paragraph
        continue;
      }
      endRun();
      const token = state.tokens[index];
      if (token !== undefined) drawn.push(token);
    }
    endRun();
    state.tokens = drawn;
  });
}

/** Returns the figures and the chart of a picture; undefined if it is not that of a chart. */
function chartOf(picture: string): { readonly figures: Figures; readonly chart: BarChart } | undefined {
  const report = [dirname(picture), dirname(dirname(picture))].find((folder) =>
    existsSync(join(folder, "figures.json")),
  );
  if (report === undefined) return undefined;
  const figures = JSON.parse(readFileSync(join(report, "figures.json"), "utf8")) as Figures;
  const chart = figures.charts.find((one) => one.file === relative(report, picture));
  return chart && { figures, chart };
}

/** Returns the address of the picture that a paragraph consists of; undefined if it is not a picture. */
export function pictureAt(tokens: readonly Token[], index: number): string | undefined {
  const [start, content] = [tokens[index], tokens[index + 1]];
  const [image, ...others] = content?.children ?? [];
  if (start?.type !== "paragraph_open" || image?.type !== "image" || others.length > 0) return undefined;
  return image.attrGet("src") ?? undefined;
}

function idOf(file: string): string {
  return `chart-${file.replace(/\.svg$/, "").replace(/\W+/g, "-")}`;
}
