import type { Observer } from "@holdfast/core";
import type { Cleanup } from "@holdfast/testkit/cleanup";

/** Measures locks, and serves the metrics to Prometheus. Without `--metrics`, OpenTelemetry is not even loaded. */
export async function serveMetrics(cleanup: Cleanup): Promise<{ readonly observer: Observer; readonly url: string }> {
  const { openTelemetryObserver } = await import("@holdfast/opentelemetry");
  const { PrometheusExporter } = await import("@opentelemetry/exporter-prometheus");
  const { MeterProvider } = await import("@opentelemetry/sdk-metrics");
  const { freePort } = await import("@holdfast/testkit");
  const port = await freePort();
  const host = "127.0.0.1";
  const options = { host, port, preventServerStart: true, withoutScopeInfo: true, withoutTargetInfo: true };
  const exporter = new PrometheusExporter(options);
  const provider = new MeterProvider({ readers: [exporter] });
  cleanup.defer(() => provider.shutdown());
  await exporter.startServer();
  return {
    observer: openTelemetryObserver({ meter: provider.getMeter("demo") }),
    url: `http://${host}:${port}/metrics`,
  };
}

/** Reads the endpoints as Prometheus does, and adds up their metrics. */
export async function scrape(urls: readonly string[], signal: AbortSignal): Promise<string> {
  return addUp(await Promise.all(urls.map(async (url) => (await fetch(url, { signal })).text())));
}

/** The comments about a metric, and its samples. */
const metric = /((?:^#.*\n)+)((?:^[^#\n].*\n?)+)/gm;
const sample = /^(.+) (\S+)$/gm;

/**
 * Adds up metrics in Prometheus's text format, series by series. Sums are right for counters, for histograms, and for the
 * number of locks held; the demo has no other metrics.
 */
export function addUp(texts: readonly string[]): string {
  const metrics = new Map<string, Map<string, number>>();
  for (const [, head = "", body = ""] of texts.flatMap((text) => [...text.matchAll(metric)])) {
    const values = metrics.get(head) ?? new Map<string, number>();
    metrics.set(head, values);
    for (const [, series = "", value] of body.matchAll(sample)) {
      values.set(series, (values.get(series) ?? 0) + Number(value));
    }
  }
  return [...metrics]
    .map(([head, values]) => head + [...values].map(([series, value]) => `${series} ${value}\n`).join(""))
    .join("");
}
