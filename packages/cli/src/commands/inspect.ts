import { setTimeout as sleep } from "node:timers/promises";
import type { Inspection } from "@holdfast/core";
import { type Command, serverCommand } from "../command.ts";
import { exitCodes } from "../exit-codes.ts";
import { withUsageErrors } from "../failures.ts";
import { essenceOf, inspectionRecord, inspectionText } from "../inspect/inspection-report.ts";
import { flag, json, pause, word } from "../options/option.ts";
import { print } from "../output/print.ts";
import { withLockService } from "../servers/lock-service.ts";
import { withSignals } from "../signals.ts";

/** `holdfast inspect`: shows the holder of a lock. */
export const inspectCommand: Command = serverCommand(
  {
    line: "inspect <resource>",
    describe: "Show the holder of a lock, by majority and by server",
    text: "Shows the holder of a lock, by majority and by server.",
    words: { resource: word("The resource") },
    options: {
      json,
      watch: flag("Refresh repeatedly; in a pipe, print every change"),
      interval: pause("1s", "Time between two refreshes", { implies: "watch" }),
    },
  },
  async ({ resource, watch, interval, json }, servers) =>
    withLockService(servers, {}, async (service) => {
      const inspect = () => withUsageErrors(() => service.redlock.inspect(resource));
      const textOf = (inspection: Inspection): string =>
        json
          ? JSON.stringify(inspectionRecord(inspection, service.servers))
          : inspectionText(inspection, service.servers);
      if (watch) return watchChanges(inspect, textOf, json, interval);
      const inspection = await inspect();
      print(textOf(inspection));
      return inspection.state === "unknown" ? exitCodes.noQuorum : exitCodes.ok;
    }),
);

/** Inspects repeatedly until a signal, and prints what has changed; at a terminal, each report replaces the last one. */
async function watchChanges(
  inspect: () => Promise<Inspection>,
  textOf: (inspection: Inspection) => string,
  json: boolean,
  intervalMs: number,
): Promise<number> {
  const isRedrawn = process.stdout.isTTY && process.env.TERM !== "dumb" && !json;
  let last: string | undefined;
  return withSignals(async (signals) => {
    const { interrupted: signal } = signals;
    while (!signal.aborted) {
      const inspection = await inspect();
      const essence = essenceOf(inspection);
      if (isRedrawn) console.clear();
      if (isRedrawn || essence !== last) print(json ? textOf(inspection) : `${textOf(inspection)}\n`);
      last = essence;
      await sleep(intervalMs, undefined, { signal }).catch(() => {});
    }
    return signals.exitCode;
  });
}
