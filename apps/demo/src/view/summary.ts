import { lostUpdates } from "../model/lost-updates.ts";
import type { Model } from "../model/model.ts";
import { percentile } from "../model/percentile.ts";
import type { Check } from "../model/verdict.ts";
import { type Colors, duration } from "./text.ts";

/** What a run has come to, and whether anything was violated. */
export function summary(model: Model, checks: readonly Check[], colors: Colors): readonly string[] {
  const violated = checks.filter(({ holds }) => !holds).map(({ claim }) => claim);
  const conclusion =
    violated.length === 0 ? colors.green("Nothing was violated.") : colors.red(`VIOLATED: ${violated.join("; ")}`);
  return [
    "",
    ...numbers(model).map(([name, value]) => ` ${name.padEnd(22)} ${value}`),
    "",
    ...checks.map(line),
    "",
    ` ${conclusion}`,
  ];

  function line({ claim, holds, finding }: Check): string {
    const mark = holds ? colors.green("✓") : colors.red("✗");
    return ` ${mark} ${claim} ${colors.dim(`(${finding})`)}`;
  }
}

function numbers(model: Model): readonly (readonly [name: string, value: string])[] {
  const { setup, waitsMs, resources, timedOut, unreachable, lostLocks } = model;
  const waits = `median ${duration(percentile(waitsMs, 0.5))}, 99th percentile ${duration(percentile(waitsMs, 0.99))}`;
  const counts = resources.map(({ name, increments }) => `${name} ${increments}`);
  const troubles = [
    ["gave up, no quorum", unreachable],
    ["locks lost", lostLocks],
  ] as const;
  return [
    [setup.locked ? "locks granted" : "visits without a lock", String(waitsMs.length)],
    ["waits", waits],
    ["went elsewhere", `${timedOut} times, after waiting ${duration(setup.patienceMs)} in vain`],
    ["increments", counts.join(", ")],
    ["lost updates", String(lostUpdates(model))],
    ["stale writes refused", String(model.staleWritesRefused)],
    ...troubles.filter(([, count]) => count > 0).map(([name, count]) => [name, String(count)] as const),
  ];
}
