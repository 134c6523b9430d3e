import type { Cleanup } from "@holdfast/testkit/cleanup";
import type { Setup } from "../setup.ts";
import type { MetricsEndpoint } from "./endpoint.ts";

/** Measures if the setup says so. What that takes is not even loaded otherwise. */
export async function metricsOf({ metrics }: Setup, cleanup: Cleanup): Promise<MetricsEndpoint | undefined> {
  return metrics ? (await import("./endpoint.ts")).serveMetrics(cleanup) : undefined;
}
