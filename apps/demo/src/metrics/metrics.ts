import type { Cleanup } from "@holdfast/testkit/cleanup";
import type { Setup } from "../setup.ts";
import type { MetricsEndpoint } from "./endpoint.ts";

/** Serves metrics if the setup asks for them. Otherwise OpenTelemetry is not even loaded. */
export async function metricsOf({ metrics }: Setup, cleanup: Cleanup): Promise<MetricsEndpoint | undefined> {
  return metrics ? (await import("./endpoint.ts")).serveMetrics(cleanup) : undefined;
}
