import { lostUpdates, type Model } from "../model/model.ts";
import type { Check } from "../model/verdict.ts";
import { type Colors, duration, waitsText } from "./text.ts";

/** The figures and checks of a run, and whether anything was violated. */
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
  const counts = resources.map(({ name, increments }) => `${name} ${increments}`);
  const troubles = [
    ["gave up, no quorum", unreachable],
    ["locks lost", lostLocks],
  ] as const;
  return [
    [setup.locked ? "locks granted" : "visits without a lock", String(waitsMs.length)],
    ["waits", waitsText(waitsMs)],
    ["went elsewhere", `${timedOut} times, after a wait of ${duration(setup.patienceMs)}`],
    ["increments", counts.join(", ")],
    ["lost updates", String(lostUpdates(model))],
    ["stale writes refused", String(model.staleWritesRefused)],
    ...troubles.filter(([, count]) => count > 0).map(([name, count]) => [name, String(count)] as const),
  ];
}
