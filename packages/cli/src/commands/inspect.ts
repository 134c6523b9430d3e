import type { Inspection } from "@holdfast/core";
import { type Command, serverCommand } from "../command.ts";
import { exitCodes } from "../exit-codes.ts";
import { withUsageErrors } from "../failures.ts";
import { inspectionRecord, inspectionText } from "../inspect/inspection-report.ts";
import { printingChanges, redrawing, watch } from "../inspect/watch.ts";
import { flag, json, pause, word } from "../options/option.ts";
import { print } from "../output/print.ts";
import { type LockService, withLockService } from "../servers/lock-service.ts";
import { withSignals } from "../signals.ts";

interface InspectArguments {
  readonly resource: string;
  readonly json: boolean;
}

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
  async ({ watch, interval, ...args }, servers) =>
    withLockService(servers, {}, (service) => (watch ? watchFor(args, service, interval) : inspectOnce(args, service))),
);

async function inspectOnce({ resource, json }: InspectArguments, { redlock, servers }: LockService): Promise<number> {
  const inspection = await withUsageErrors(() => redlock.inspect(resource));
  print(json ? JSON.stringify(inspectionRecord(inspection, servers)) : inspectionText(inspection, servers));
  return inspection.state === "unknown" ? exitCodes.noQuorum : exitCodes.ok;
}

async function watchFor(
  { resource, json }: InspectArguments,
  { redlock, servers }: LockService,
  intervalMs: number,
): Promise<number> {
  // A terminal that does not report its size cannot be redrawn.
  const isAtTerminal = process.stdout.isTTY && process.stdout.rows > 0;
  const textOf = (inspection: Inspection): string => `${inspectionText(inspection, servers)}\n`;
  const jsonOf = (inspection: Inspection): string => JSON.stringify(inspectionRecord(inspection, servers));
  const display = json ? printingChanges(jsonOf) : isAtTerminal ? await redrawing(textOf) : printingChanges(textOf);
  return withSignals(async (signals) => {
    await watch(() => withUsageErrors(() => redlock.inspect(resource)), display, intervalMs, signals.interrupted);
    return signals.exitCode;
  });
}
