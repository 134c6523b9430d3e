/** The dashboard and the alert rules of docs/monitoring.md, and metrics of a run. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { election } from "@holdfast/core/election";
import { semaphore } from "@holdfast/core/semaphore";
import { openTelemetryElectionObserver, openTelemetrySemaphoreObserver } from "@holdfast/opentelemetry";
import { expect } from "vitest";
import { meterSdk, observedWorld } from "./telemetry.ts";

const docs = fileURLToPath(new URL("../../../docs", import.meta.url));
/** The file of the alert rules. */
export const rules: string = join(docs, "prometheus-alerts.yaml");
/** The dashboard. */
export const dashboard: Dashboard = JSON.parse(await readFile(join(docs, "grafana-dashboard.json"), "utf8"));

/** A query. */
export interface Target {
  readonly expr: string;
  readonly legendFormat?: string;
}

interface Dashboard {
  readonly panels: readonly {
    readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
    readonly targets?: readonly Target[];
  }[];
}

const page = await readFile(join(docs, "monitoring.md"), "utf8");
/** The queries of the page. */
export const shown: readonly Target[] = [...page.matchAll(/^```promql\n([\s\S]+?)^```$/gm)].map(([, expr = ""]) => ({
  expr,
  legendFormat: "",
}));
/** All queries. */
export const targets: readonly Target[] = [...dashboard.panels.flatMap((panel) => panel.targets ?? []), ...shown];

/** Each series that a run of locks, elections and semaphores has exported, with its value. */
export async function exportedSeries(): Promise<[series: string, value: string][]> {
  const { provider, exposition } = meterSdk();
  const meter = provider.getMeter("holdfast");
  const { clock, nodes, redlock } = observedWorld({ meter, resourceAttribute: () => "invoice" });
  const lost = async () => {
    for (const node of nodes) node.fault = () => ({ lose: "request" });
    await clock.advance(20_000);
    for (const node of nodes) node.fault = () => undefined;
  };
  const lock = await clock.until(redlock.acquire("r"));
  await clock.until(redlock.acquire("r", { waitTimeoutMs: 100 }).catch(() => {}));
  expect(await clock.until(redlock.tryAcquire("r"))).toBeNull();
  await clock.until(lock.extend());
  await clock.until(lock.release());

  const observer = openTelemetrySemaphoreObserver({ meter, nameAttribute: (name) => name });
  await clock.until(semaphore(redlock, "api", 3, { observer }).acquire(2));
  const jobs = election(redlock, "jobs", { observer: openTelemetryElectionObserver({ meter }) });
  const terms = jobs.campaign();
  await clock.until(terms.next());
  await clock.until(redlock.acquire("held meanwhile", { autoExtend: true }));
  await lost();
  await clock.until(terms.next());
  const text = await exposition();
  await terms.return?.();
  return [...text.matchAll(/^(holdfast_\w+(?:\{.*\})?) (\S+)$/gm)].map(([, series = "", value = ""]) => [
    series,
    value,
  ]);
}

/** Names a series as the OpenTelemetry Collector and Prometheus's own receiver do, which add the unit. */
export const withUnits = (name: string): string => name.replace(/^(\w+_duration)(_bucket|_count|_sum)/, "$1_seconds$2");
