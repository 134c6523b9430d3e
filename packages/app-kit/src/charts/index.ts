/** Charts for reports and pages. */
export { type Kind, textOf } from "./bars.ts";
export {
  type BarChart,
  type Chart,
  type ChartParts,
  chartParts,
  chartSvg,
  type Figures,
  type PanelSource,
  type Row,
  type TimelineChart,
} from "./figures.ts";
export { lightColors } from "./svg.ts";
export type { Timeline, TimelineBar } from "./timeline.ts";
export { type Format, valueText } from "./values.ts";
