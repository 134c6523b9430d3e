/** Draws with SVG. */

/** The colours of charts, on a light surface. A page with a dark one sets the CSS variables `--chart-<name>`. */
export const lightColors = {
  surface: "#ffffff",
  ink: "#1f2937",
  muted: "#4b5563",
  own: "#1d4ed8",
  other: "#7c8aa0",
  reference: "#0f766e",
  plain: "#43709f",
} as const;

/** The name of a colour. */
export type Color = keyof typeof lightColors;

/** How a picture takes its colours: as they are, or from CSS variables of the page that it is a part of. */
export type Coloring = "light" | "variables";

/** The weight or style of a text. */
export type Face = "normal" | "bold" | "italic";

const faces = { normal: "", bold: ' font-weight="bold"', italic: ' font-style="italic"' };

function colorOf(name: Color): string {
  return `var(--chart-${name}, ${lightColors[name]})`;
}

/** How wide a text of 11 pixels is, in pixels, in the widest of the usual fonts. */
export function widthOf(text: string, face: Face = "normal"): number {
  return Math.ceil(text.length * (face === "bold" ? 7 : 6.4));
}

/** Rounds a position, in pixels. */
function px(value: number): number {
  return Math.round(value * 100) / 100;
}

/** How a text looks. */
export interface TextStyle {
  readonly fill?: Color;
  readonly size?: number;
  readonly face?: Face;
  readonly anchor?: "start" | "end";
}

/** A text, vertically centred on a point. */
export function textAt(
  text: string,
  x: number,
  y: number,
  { fill = "ink", size = 11, face = "normal", anchor = "start" }: TextStyle = {},
): string {
  const escaped = text.replace(/[&<>]/g, (sign) => ({ "&": "&amp;", "<": "&lt;" })[sign] ?? "&gt;");
  const style = `${size === 11 ? "" : ` font-size="${size}"`}${faces[face]}${anchor === "start" ? "" : ` text-anchor="${anchor}"`}`;
  return `<text x="${px(x)}" y="${px(y)}" fill="${colorOf(fill)}"${style}>${escaped}</text>`;
}

/** A rectangle. */
export function rect(x: number, y: number, width: number, height: number, fill: Color): string {
  return `<rect x="${px(x)}" y="${px(y)}" width="${px(width)}" height="${px(height)}" fill="${colorOf(fill)}"/>`;
}

/** A line from one point to the next. */
export function path(points: readonly (readonly [x: number, y: number])[], stroke: Color): string {
  const steps = points.map(([x, y]) => `${px(x)} ${px(y)}`).join("L");
  return `<path d="M${steps}" stroke="${colorOf(stroke)}" fill="none"/>`;
}

/** Puts elements into a picture. */
export function svgOf(
  width: number,
  height: number,
  elements: readonly string[],
  coloring: Coloring = "light",
): string {
  const font = 'font-family="Helvetica, Arial, sans-serif" font-size="11" dominant-baseline="central"';
  const size = `width="${width}" height="${height}" viewBox="0 0 ${width} ${height}"`;
  const surface = coloring === "light" ? [rect(0, 0, width, height, "surface")] : [];
  const lines = [`<svg xmlns="http://www.w3.org/2000/svg" ${size} ${font}>`, ...surface, ...elements, "</svg>"];
  const svg = `${lines.join("\n")}\n`;
  return coloring === "variables" ? svg : svg.replace(/var\(--chart-[\w-]+, (#\w+)\)/g, "$1");
}
