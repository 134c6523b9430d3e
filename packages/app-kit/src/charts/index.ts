/** Charts for reports and pages. */
export { type Kind, textOf } from "./bars.ts";
export {
  type BarChart,
  type ChartParts,
  chartParts,
  chartSvg,
  type Figures,
  type PanelSource,
  type Row,
} from "./figures.ts";
export { lightColors } from "./svg.ts";
export { type Format, valueText } from "./values.ts";
