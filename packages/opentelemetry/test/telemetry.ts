import { Redlock, type RedlockOptions } from "@holdfast/core";
import { memoryNode } from "@holdfast/memory";
import { type OpenTelemetryObserverOptions, openTelemetryObserver } from "@holdfast/opentelemetry";
import { FaultyNode, VirtualClock } from "@holdfast/testkit";
import type { Attributes } from "@opentelemetry/api";
import { PrometheusSerializer } from "@opentelemetry/exporter-prometheus";
import {
  AggregationTemporality,
  type Histogram,
  InMemoryMetricExporter,
  MeterProvider,
  type MetricData,
  PeriodicExportingMetricReader,
  type ResourceMetrics,
} from "@opentelemetry/sdk-metrics";
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base";
import { onTestFinished } from "vitest";

/** Starts the SDK of metrics with an exporter to memory, until the end of the test. */
export function meterSdk() {
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 });
  const provider = new MeterProvider({ readers: [reader] });
  onTestFinished(() => provider.shutdown());
  const exported = async (): Promise<ResourceMetrics[]> => {
    exporter.reset();
    await reader.forceFlush();
    return exporter.getMetrics();
  };
  /** Returns the current metrics by name. */
  const collect = async (): Promise<Map<string, MetricData>> => {
    const scopes = (await exported()).flatMap(({ scopeMetrics }) => scopeMetrics);
    return new Map(scopes.flatMap(({ metrics }) => metrics).map((metric) => [metric.descriptor.name, metric]));
  };
  /** Returns the current metrics as Prometheus reads them. */
  const exposition = async (): Promise<string> => {
    const serializer = new PrometheusSerializer();
    return (await exported()).map((metrics) => serializer.serialize(metrics)).join("");
  };
  return { provider, collect, exposition };
}

/** Starts the SDK of traces with an exporter to memory, until the end of the test. */
export function tracerSdk() {
  const exporter = new InMemorySpanExporter();
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  onTestFinished(() => provider.shutdown());
  return { provider, spans: (): ReadableSpan[] => exporter.getFinishedSpans() };
}

/** Returns an observed client of three nodes named a, b, c, and unobserved rivals, on one virtual clock. */
export function observedWorld(observing: OpenTelemetryObserverOptions) {
  const clock = new VirtualClock();
  const inner = ["a", "b", "c"].map((name) => memoryNode({ name, clock }));
  const nodes = inner.map((node) => new FaultyNode(node, clock));
  const redlock = new Redlock(nodes, { clock, observer: openTelemetryObserver(observing) });
  const rival = (options: RedlockOptions = {}) => new Redlock(inner, { clock, ...options });
  return { clock, nodes, redlock, rival };
}

/** Returns the values of a metric with their attributes: sums, or `[count, sum]` of histograms. */
export function valuesOf(metric: MetricData | undefined): [attributes: Attributes, value: number | [number, number]][] {
  return (metric?.dataPoints ?? []).map(({ attributes, value }) => {
    if (typeof value === "number") return [attributes, value];
    const { count, sum } = value as Histogram;
    return [attributes, [count, Math.round((sum ?? 0) * 1e6) / 1e6]];
  });
}
