/** The width of a picture, in pixels. */
export const width = 1000;

/** The margin right of the lanes, in pixels. */
export const right = 12;

const inkOutside = "#1f2937";
const letterWidth = 6;

/** Lane, start and end in milliseconds, and a label. */
export type Bar = [lane: string, fromMs: number, toMs: number, label: string];

/** The part of the echarts API for custom series that is used here. */
interface DrawingApi {
  value(dimension: number): number;
  coord(point: [number, number]): [number, number];
}

/** How bars are drawn. */
export interface BarStyle {
  readonly color: string;
  readonly height: number;
  /** The colour of a label inside the bar. */
  readonly ink: string;
  /** Where the labels are, by default inside if there is room, or else nowhere. */
  readonly labels?: "beside" | "inside or beside";
}

/** Returns a series of bars on the lanes of a picture. */
export function bars(name: string, data: Bar[], { color, height, ink, labels }: BarStyle): object {
  return {
    ...{ name, type: "custom", color, encode: { x: [1, 2], y: 0 }, data },
    renderItem({ dataIndex }: { dataIndex: number }, api: DrawingApi) {
      const [fromX, y] = api.coord([api.value(1), api.value(0)]);
      const [toX] = api.coord([api.value(2), api.value(0)]);
      const length = Math.max(toX - fromX, 2);
      const bar = {
        type: "rect",
        shape: { x: fromX, y: y - height / 2, width: length, height },
        style: { fill: color },
      };
      const text = data[dataIndex]?.[3] ?? "";
      const textWidth = text.length * letterWidth + 6;
      const isInside = labels !== "beside" && textWidth <= length;
      const x = isInside ? fromX + 4 : Math.min(fromX + length + 4, width - right - textWidth);
      const label = { type: "text", silent: true, style: { x, y: y - 5, text, fill: isInside ? ink : inkOutside } };
      return { type: "group", children: isInside || labels !== undefined ? [bar, label] : [bar] };
    },
  };
}
