/** The few shapes that the pictures are made of. */

export function rect(x: number, y: number, width: number, height: number, fill: string): string {
  return `<rect x="${x.toFixed(1)}" y="${y}" width="${width.toFixed(1)}" height="${height}" fill="${fill}"/>`;
}

export interface TextStyle {
  readonly fill?: string;
  readonly size?: number;
  readonly weight?: number;
  readonly anchor?: "middle" | "end";
  /** The color of a rim that keeps it readable on anything. */
  readonly halo?: string;
}

export function text(x: number, y: number, content: string, style: TextStyle = {}): string {
  const { fill = "#1f2937", size, weight, anchor, halo } = style;
  const attributes = [
    `fill="${fill}"`,
    ...(size ? [`font-size="${size}"`] : []),
    ...(weight ? [`font-weight="${weight}"`] : []),
    ...(halo ? [`stroke="${halo}" stroke-width="3" paint-order="stroke"`] : []),
    ...(anchor ? [`text-anchor="${anchor}"`] : []),
  ];
  return `<text x="${x.toFixed(1)}" y="${y}" ${attributes.join(" ")}>${escaped(content)}</text>`;
}

export function dashes(fromX: number, toX: number, y: number, stroke: string): string {
  return `<path d="M${fromX.toFixed(1)} ${y}H${toX.toFixed(1)}" stroke="${stroke}" stroke-dasharray="2 2"/>`;
}

/** What is said of a picture to those who do not see it, and of a shape when it is pointed at. */
export function titleOf(content: string): string {
  return `<title>${escaped(content)}</title>`;
}

/** A shape with a title. */
export function titled(shape: string, content: string): string {
  return `<g>${shape}${titleOf(content)}</g>`;
}

function escaped(content: string): string {
  return content.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
