import { setTimeout as sleep } from "node:timers/promises";
import type { Inspection } from "@holdfast/core";
import { type Command, serverCommand } from "../command.ts";
import { exitCodes } from "../exit-codes.ts";
import { withUsageErrors } from "../failures.ts";
import { essenceOf, inspectionRecord, inspectionText } from "../inspect/inspection-report.ts";
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

/** Shows a series of reports. */
export interface Display {
  /** Shows the newest report. */
  show(inspection: Inspection): void;
  /** Restores the terminal, with the cursor below the last report. */
  end(): void;
}

/** Returns a display that redraws the report in place. */
async function redrawing(textOf: (inspection: Inspection) => string): Promise<Display> {
  // Loaded here, because it takes longer to load than the rest of this program.
  const { createLogUpdate } = await import("log-update");
  const draw = createLogUpdate(process.stdout);
  return { show: (inspection) => draw(textOf(inspection)), end: () => draw.done() };
}

/** Returns a display that prints a report whenever anything other than the remaining time has changed. */
function printingChanges(textOf: (inspection: Inspection) => string): Display {
  let last: string | undefined;
  return {
    show(inspection) {
      const essence = essenceOf(inspection);
      if (essence !== last) print(textOf(inspection));
      last = essence;
    },
    end() {},
  };
}

/** Inspects repeatedly until the signal aborts. */
async function watch(
  inspect: () => Promise<Inspection>,
  display: Display,
  intervalMs: number,
  signal: AbortSignal,
): Promise<void> {
  try {
    while (!signal.aborted) {
      display.show(await inspect());
      await sleep(intervalMs, undefined, { signal }).catch(() => {});
    }
  } finally {
    display.end();
  }
}
