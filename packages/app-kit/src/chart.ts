import { init } from "echarts/dist/echarts.esm.min.mjs";

/** Draws a chart as SVG. */
export function svgOf(width: number, height: number, option: object): string {
  const chart = init(null, null, { renderer: "svg", ssr: true, width, height });
  try {
    chart.setOption({ animation: false, backgroundColor: "#ffffff", ...option });
    return `${chart.renderToSVGString()}\n`;
  } finally {
    chart.dispose();
  }
}
