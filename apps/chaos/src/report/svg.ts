/** The few shapes that the pictures are made of. */

export function rect(x: number, y: number, width: number, height: number, fill: string): string {
  return `<rect x="${x.toFixed(1)}" y="${y}" width="${width.toFixed(1)}" height="${height}" fill="${fill}"/>`;
}

export interface TextStyle {
  readonly fill?: string;
  readonly size?: number;
  readonly weight?: number;
  readonly anchor?: "middle" | "end";
}

export function text(
  x: number,
  y: number,
  content: string,
  { fill = "#1f2937", size, weight, anchor }: TextStyle = {},
) {
  const attributes = [
    `fill="${fill}"`,
    ...(size ? [`font-size="${size}"`] : []),
    ...(weight ? [`font-weight="${weight}"`] : []),
    ...(anchor ? [`text-anchor="${anchor}"`] : []),
  ];
  return `<text x="${x.toFixed(1)}" y="${y}" ${attributes.join(" ")}>${escaped(content)}</text>`;
}

/** A shape that says something when it is pointed at. */
export function title(shape: string, content: string): string {
  return `<g>${shape}<title>${escaped(content)}</title></g>`;
}

function escaped(content: string): string {
  return content.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
