/** As much of echarts as is used here. Its own declarations do not compile under `exactOptionalPropertyTypes`. */
declare module "echarts/dist/echarts.esm.min.mjs" {
  interface Chart {
    setOption(option: object): void;
    renderToSVGString(): string;
    dispose(): void;
  }

  interface Size {
    readonly renderer: "svg";
    readonly ssr: true;
    readonly width: number;
    readonly height: number;
  }

  export function init(dom: null, theme: null, options: Size): Chart;
}
