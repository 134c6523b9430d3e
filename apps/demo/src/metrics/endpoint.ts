import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Observer } from "@holdfast/core";
import { openTelemetryObserver } from "@holdfast/opentelemetry";
import type { Cleanup } from "@holdfast/testkit/cleanup";
import { PrometheusExporter } from "@opentelemetry/exporter-prometheus";
import { MeterProvider } from "@opentelemetry/sdk-metrics";

/** Measures the locks of this process, and serves the metrics to Prometheus. */
export interface MetricsEndpoint {
  readonly observer: Observer;
  readonly url: string;
}

/** Serves the metrics of this process on a free port of the loopback. */
export async function serveMetrics(cleanup: Cleanup): Promise<MetricsEndpoint> {
  // The exporter's own server cannot choose a free port.
  const exporter = new PrometheusExporter({
    preventServerStart: true,
    withoutScopeInfo: true,
    withoutTargetInfo: true,
  });
  const provider = new MeterProvider({ readers: [exporter] });
  cleanup.defer(() => provider.shutdown());
  const server = createServer((request, response) => exporter.getMetricsRequestHandler(request, response));
  cleanup.defer(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const observer = openTelemetryObserver({ meter: provider.getMeter("demo") });
  return { observer, url: `http://127.0.0.1:${port}/metrics` };
}
