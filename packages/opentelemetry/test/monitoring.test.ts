/** The dashboard and the alert rules of docs/monitoring.md, evaluated by Prometheus over metrics of a run. */
import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { election } from "@holdfast/core/election";
import { semaphore } from "@holdfast/core/semaphore";
import { openTelemetryElectionObserver, openTelemetrySemaphoreObserver } from "@holdfast/opentelemetry";
import { reapedDirectory } from "@holdfast/testkit";
import { expect, test } from "vitest";
import { meterSdk, observedWorld } from "./telemetry.ts";

const docs = fileURLToPath(new URL("../../../docs", import.meta.url));
const rules = join(docs, "prometheus-alerts.yaml");
const dashboard: Dashboard = JSON.parse(await readFile(join(docs, "grafana-dashboard.json"), "utf8"));

interface Dashboard {
  readonly panels: readonly {
    readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
    readonly targets?: readonly { readonly expr: string; readonly legendFormat?: string }[];
  }[];
}

const page = await readFile(join(docs, "monitoring.md"), "utf8");
const shown = [...page.matchAll(/^```promql\n([\s\S]+?)^```$/gm)].map(([, expr = ""]) => ({ expr, legendFormat: "" }));
const targets = [...dashboard.panels.flatMap((panel) => panel.targets ?? []), ...shown];

/** Each series that a run of locks, elections and semaphores has exported, with its value. */
async function exportedSeries(): Promise<[series: string, value: string][]> {
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
const withUnits = (name: string) => name.replace(/^(\w+_duration)(_bucket|_count|_sum)/, "$1_seconds$2");

/** Runs tests of Prometheus's own tool: see "Unit Testing for Rules" in its manual. */
async function promtool(tests: readonly object[], files: readonly string[] = []): Promise<void> {
  const file = join(await reapedDirectory(), "tests.yaml");
  const text = JSON.stringify({ rule_files: files, evaluation_interval: "15s", tests }); // JSON is YAML
  await writeFile(file, text);
  await promisify(execFile)("promtool", ["test", "rules", file]).catch((error) => {
    throw new Error(`promtool failed: ${error.stdout}${error.stderr}`, { cause: error });
  });
}

/** Returns a query of the dashboard as Grafana sends it. */
function sent(expr: string): string {
  const values: Readonly<Record<string, string>> = { job: ".*", __rate_interval: "1m", __range: "5m" };
  return expr.replaceAll(/\$(\w+)/g, (_, name) => values[name] ?? `an unknown variable: ${name}`);
}

test.each([
  ["the exporter for Prometheus", (name: string) => name],
  ["the Collector", withUnits],
])("each query of the dashboard and the page finds metrics of %s", async (_, named) => {
  const input_series = (await exportedSeries()).map(([name, value]) => ({
    series: named(name).replace("{", '{job="shop",instance="a",'),
    values: `0x2 ${value}x20`,
  }));
  expect([targets.length > 30, shown.length]).toEqual([true, 2]);
  await promtool([
    {
      interval: "15s",
      input_series,
      promql_expr_test: targets.map(({ expr }) => ({
        expr: `clamp_max(count(${sent(expr)}), 1)`,
        eval_time: "1m",
        exp_samples: [{ labels: "{}", value: 1 }],
      })),
    },
  ]);
});

test("the dashboard and the alerts name only metrics and attributes that were exported", async () => {
  const series = await exportedSeries();
  const names = series.map(([name]) => /^\w+/.exec(name)?.[0] ?? "");
  const labels = series.flatMap(([name]) => [...name.matchAll(/(\w+)="/g)].map(([, label]) => label));
  const known = new Set([...names, ...names.map(withUnits), ...labels]);
  const queries = targets.map(({ expr, legendFormat = "" }) => `${expr} ${legendFormat}`).join("\n");
  const variables = JSON.stringify(dashboard).match(/label_values\(\w+/g) ?? [];
  const words = `${queries} ${variables} ${await readFile(rules, "utf8")}`
    .replaceAll("(_seconds)?", "")
    .match(/\b(holdfast_\w+|error_type)\b/g);
  expect(words?.length).toBeGreaterThan(60);
  expect([...new Set(words)].filter((word) => !known.has(word))).toEqual([]);

  const family = (name: string) => name.replace(/_(bucket|count|sum)$/, "");
  expect([...new Set(names.map(family))].filter((name) => !queries.includes(name))).toEqual([]);
});

test("the panels of the dashboard do not overlap", () => {
  const cells = dashboard.panels.flatMap(({ gridPos: { x, y, w, h } }) =>
    Array.from({ length: w * h }, (_, cell) => `${x + (cell % w)} ${y + Math.floor(cell / w)}`),
  );
  expect(new Set(cells).size).toBe(cells.length);
});

/** The losses of a process whose metrics begin after five minutes. */
const losses = (reason: string, values: string) => ({
  series: `holdfast_lock_losses_total{job="shop",instance="a",holdfast_lock_loss_reason="${reason}"}`,
  values: `_x19 ${values}`,
});

/** The alerts that a rule must have raised at a time. */
const at = (eval_time: string, alertname: string, ...alerts: readonly [labels: object, summary: string][]) => ({
  eval_time,
  alertname,
  exp_alerts: alerts.map(([exp_labels, summary]) => ({ exp_labels, exp_annotations: { summary } })),
});

test("HoldfastLockLost is raised by the first loss of a process and reason, by a later one, and after a restart", async () => {
  const raised = (reason: string): [object, string] => [
    { job: "shop", holdfast_lock_loss_reason: reason, severity: "critical" },
    `shop lost locks while it held them: ${reason}`,
  ];
  const alert = (eval_time: string, ...reasons: readonly string[]) =>
    at(eval_time, "HoldfastLockLost", ...reasons.map(raised));
  const interval = "15s";
  await promtool(
    [
      {
        interval,
        input_series: [losses("expired", "1x100"), losses("max-hold", "1x100")],
        alert_rule_test: [alert("4m"), alert("5m", "expired"), alert("14m", "expired"), alert("15m30s")],
      },
      {
        interval,
        input_series: [losses("not-held", "5x80 6x80")],
        alert_rule_test: [alert("14m", "not-held"), alert("24m"), alert("26m", "not-held"), alert("36m")],
      },
      {
        interval,
        input_series: [losses("blocked", "3x80 stale _x9 1x80"), losses("expired", "3x80 1x80")],
        alert_rule_test: [alert("24m"), alert("28m", "blocked", "expired")],
      },
    ],
    [rules],
  );
});

test("the other alerts are raised by the state that they name, and by no other", async () => {
  const calls = (error: string, values: string) => ({
    series: `holdfast_lock_acquire_duration_seconds_count{job="shop",error_type="${error}"}`,
    values,
  });
  const labels = (severity: string, more: object = {}) => ({ job: "shop", severity, ...more });
  await promtool(
    [
      {
        interval: "1m",
        input_series: [
          calls("", "0+90x30"),
          calls("WAIT_TIMEOUT", "0+10x30"),
          calls("QUORUM_UNREACHABLE", "0x5 0+2x5 10x20"),
          {
            series: 'holdfast_node_failures_total{job="shop",holdfast_node_name="redis-2"}',
            values: "0x5 0+1x8 8x20",
          },
          { series: 'holdfast_election_leading{job="shop",instance="a"}', values: "1x9 0x9 1x9" },
          { series: 'holdfast_election_leading{job="shop",instance="b"}', values: "0x30" },
        ],
        alert_rule_test: [
          at("5m", "HoldfastUnavailable"),
          at("10m", "HoldfastUnavailable", [
            labels("critical", { error_type: "QUORUM_UNREACHABLE" }),
            "shop cannot lock: QUORUM_UNREACHABLE",
          ]),
          at("20m", "HoldfastUnavailable"),
          at("5m", "HoldfastNodeFails"),
          at("14m", "HoldfastNodeFails", [
            labels("warning", { holdfast_node_name: "redis-2" }),
            "Requests of shop to the lock server redis-2 fail",
          ]),
          at("25m", "HoldfastNodeFails"),
          at("5m", "HoldfastWaitsTimeOut"),
          at("20m", "HoldfastWaitsTimeOut", [labels("warning"), "10% of the calls of shop wait without success"]),
          at("9m", "HoldfastNoLeader"),
          at("13m", "HoldfastNoLeader", [labels("critical"), "No process of shop leads "]),
          at("22m", "HoldfastNoLeader"),
        ],
      },
    ],
    [rules],
  );
  const alerts = [...(await readFile(rules, "utf8")).matchAll(/- alert: (\w+)/g)].map(([, name]) => name);
  const tested = ["LockLost", "Unavailable", "NodeFails", "WaitsTimeOut", "NoLeader"];
  expect(alerts).toEqual(tested.map((name) => `Holdfast${name}`));
});
