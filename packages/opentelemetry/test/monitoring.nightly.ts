/** The dashboard and the alert rules of docs/monitoring.md, evaluated by Prometheus over metrics of a run. */
import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { reapedDirectory } from "@holdfast/testkit";
import { expect, test } from "vitest";
import { exportedSeries, rules, shown, targets, withUnits } from "./monitoring.ts";

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
