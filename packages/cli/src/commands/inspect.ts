import type { Inspection } from "@holdfast/core";
import type { Argv, CommandModule } from "yargs";
import { exitCodes, UsageError } from "../exit-codes.ts";
import { withUsageErrors } from "../failures.ts";
import { inspectionRecord, inspectionText } from "../inspect/inspection-report.ts";
import { printingChanges, redrawing, watch } from "../inspect/watch.ts";
import { json, text } from "../options/definitions.ts";
import { parseDuration } from "../options/duration.ts";
import { only, readServerOptions, type ServerArguments, withServerOptions } from "../options/server-options.ts";
import { print } from "../output/print.ts";
import { type LockService, withLockService } from "../servers/lock-service.ts";
import { withSignals } from "../signals.ts";

interface InspectArguments extends ServerArguments {
  readonly resource: string;
  readonly json: boolean | undefined;
  readonly watch: boolean | undefined;
  readonly interval: string | undefined;
}

const defaultInterval = "1s";

/** `holdfast inspect`: shows the holder of a lock. */
export const inspectCommand: CommandModule<object, InspectArguments> = {
  command: "inspect <resource>",
  describe: "Show the holder of a lock, by majority and by server",
  builder: (yargs) =>
    withServerOptions(yargs)
      .usage("$0 inspect <resource> [options]\n\nShows the holder of a lock, by majority and by server.")
      .positional("resource", { type: "string", describe: "The resource" })
      .options({
        json,
        watch: { type: "boolean", describe: "Refresh repeatedly; in a pipe, print every change" },
        interval: {
          ...text,
          implies: "watch",
          describe: `Time between two refreshes (default: ${defaultInterval})`,
        },
      }) as unknown as Argv<InspectArguments>,
  handler: async (args) => {
    const intervalMs = parseDuration("--interval", only("--interval", args.interval) ?? defaultInterval);
    if (intervalMs === 0) throw new UsageError("--interval must be longer than 0");
    const servers = await readServerOptions(args, process.env);
    process.exitCode = await withLockService(servers, {}, (service) =>
      args.watch ? watchFor(args, service, intervalMs) : inspectOnce(args, service),
    );
  },
};

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
