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
