/** Replaces the pictures of reports by charts that are drawn from the same figures, as parts of the page. */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import type { Chart, ChartParts, Figures } from "@holdfast/app-kit/charts";
import { tsImport } from "tsx/esm/api";
import type { MarkdownRenderer } from "vitepress";
import { figureHtml } from "./html.ts";

/** Draws a chart. */
export type Draw = (figures: Figures, chart: Chart) => ChartParts;

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
 * A plugin of markdown-it: replaces each picture that `figures.json`, in the folder of its page, lists as a chart. Of pictures
 * that follow each other, a reader chooses one. The index of the search does without charts.
 */
export function drawPictures(md: MarkdownRenderer, draw: Draw): void {
  md.core.ruler.push("draw_pictures", (state) => {
    const { realPath } = state.env as { readonly realPath?: string };
    if (realPath === undefined) return;
    const folder = dirname(realPath);
    const figures = figuresIn(folder);
    if (figures === undefined) return;
    const drawn: typeof state.tokens = [];
    let run: Chart[] = [];
    const endRun = (): void => {
      if (run.length === 0) return;
      const html = new state.Token("html_block", "", 0);
      html.content = figureHtml(run.map((chart) => ({ ...draw(figures, chart), id: idOf(chart.file) })));
      drawn.push(html);
      run = [];
    };
    for (let index = 0; index < state.tokens.length; index++) {
      const chart = chartAt(state.tokens, index, folder, figures);
      if (chart !== undefined) {
        run.push(chart);
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

/** Returns the figures beside a page; undefined if there are none. */
function figuresIn(folder: string): Figures | undefined {
  const file = join(folder, "figures.json");
  return existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as Figures) : undefined;
}

/** Returns the chart that a paragraph consists of; undefined if it is not a picture of one. */
function chartAt(tokens: readonly Token[], index: number, folder: string, figures: Figures): Chart | undefined {
  const [start, content] = [tokens[index], tokens[index + 1]];
  const [image, ...others] = content?.children ?? [];
  if (start?.type !== "paragraph_open" || image?.type !== "image" || others.length > 0) return undefined;
  const file = relative(folder, join(folder, image.attrGet("src") ?? ""));
  return figures.charts.find((chart) => chart.file === file);
}

function idOf(file: string): string {
  return `chart-${file.replace(/\.svg$/, "").replace(/\W+/g, "-")}`;
}
