/// <reference path="./echarts.d.ts" />
/** Draws with ECharts, as static SVG. */
import { init } from "echarts/dist/echarts.esm.min.mjs";

/** The colours of charts, on a light surface. A page with a dark one sets the CSS variables `--chart-<name>`. */
export const lightColors = {
  surface: "#ffffff",
  ink: "#1f2937",
  muted: "#4b5563",
  grid: "#d5dae1",
  band: "#f3f5f8",
  "on-bar": "#ffffff",
  own: "#1d4ed8",
  other: "#7c8aa0",
  reference: "#0f766e",
  held: "#43709f",
  twice: "#c81e1e",
  fault: "#f6c768",
  refused: "#7c3aed",
  plain: "#43709f",
  duty: "#a9c4e4",
  step: "#7c3aed",
  "curve-1": "#43709f",
  "curve-2": "#9ecae9",
  "curve-3": "#3f8a3f",
  "curve-4": "#a8d49b",
  "curve-5": "#a2689a",
} as const;

/** The name of a colour. */
export type Color = keyof typeof lightColors;

/** How a picture takes its colours: as they are, or from CSS variables of the page that it is a part of. */
export type Coloring = "light" | "variables";

/** Returns a colour for an option of a chart. */
export function color(name: Color): string {
  return `var(--chart-${name}, ${lightColors[name]})`;
}

/** The font of all texts. */
export const font = "Helvetica, Arial, sans-serif";

/** How wide a text of 11 pixels is, in pixels, in the widest of the usual fonts. */
export function widthOf(text: string, weight: "normal" | "bold" = "normal"): number {
  return Math.ceil(text.length * (weight === "bold" ? 7 : 6.4));
}

/** The part of ECharts' interface for custom series that is used here. */
export interface DrawingApi {
  coord(point: [number, number]): [number, number];
}

/** A text, vertically centred on a point. */
export function textAt(text: string, x: number, y: number, change: object = {}): object {
  const style = { text, x, y, verticalAlign: "middle", font: `11px ${font}`, fill: color("ink"), ...change };
  return { type: "text", style };
}

/** A rectangle. */
export function rect(x: number, y: number, width: number, height: number, fill: Color): object {
  return { type: "rect", shape: { x, y, width, height }, style: { fill: color(fill) } };
}

/** Draws a chart as SVG. */
export function svgOf(width: number, height: number, option: object, coloring: Coloring = "light"): string {
  const chart = init(null, null, { renderer: "svg", ssr: true, width, height });
  try {
    const backgroundColor = coloring === "light" ? color("surface") : "transparent";
    chart.setOption({ animation: false, textStyle: { fontFamily: font }, backgroundColor, ...option });
    const svg = `${still(chart.renderToSVGString())}\n`;
    return coloring === "variables" ? svg : svg.replace(/var\(--chart-[\w-]+, (#\w+)\)/g, "$1");
  } finally {
    chart.dispose();
  }
}

/** Removes what ECharts adds for pictures that react to the mouse, and says once what it says with each text. */
function still(svg: string): string {
  return svg
    .replace(/<style ?>[\s\S]*?<\/style>\n?/g, "")
    .replace(/ (class="zr[\w-]*"|ecmeta_\w+="[^"]*"|pointer-events="\w+"|baseProfile="\w+"|xml:space="preserve")/g, "")
    .replace(/\bzr\d+-/g, "zr-")
    .replace(/ (xmlns:xlink="[^"]*"|fill="#000"|dominant-baseline="central"|text-anchor="start")/g, "")
    .replace(/ style="font: ?(\w+ )?([\d.]+)px [^"]*"/g, (_, style: string, size: string) => fontOf(style, size))
    .replace(/ style="font-size:([\d.]+)px;[^"]*"/g, (_, size: string) => fontOf("normal ", size))
    .replace(/<path d="[^"]*"( transform="[^"]*")? fill="(rgb\(0,0,0\)" fill-opacity="0"[^>]*|none")><\/path>\n/g, "")
    .replace(/><\/(path|rect)>/g, "/>")
    .replace(/\d+\.\d{3,}/g, (digits) => String(Math.round(Number(digits) * 100) / 100))
    .replace("<svg ", `<svg font-family="${font}" font-size="11" dominant-baseline="central" `);
}

function fontOf(style: string | undefined, size: string): string {
  const attributes = { "bold ": ' font-weight="bold"', "italic ": ' font-style="italic"' };
  const attribute = attributes[style as keyof typeof attributes] ?? "";
  return `${attribute}${size === "11" ? "" : ` font-size="${size}"`}`;
}
