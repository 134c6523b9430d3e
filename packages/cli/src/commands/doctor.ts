import type { Argv, CommandModule } from "yargs";
import { type Level, levels } from "../doctor/levels.ts";
import { renderReport } from "../doctor/render.ts";
import { examine, type Report } from "../doctor/report.ts";
import { exitCodes, UsageError } from "../exit-codes.ts";
import { json } from "../options/definitions.ts";
import {
  readServerOptions,
  type ServerArguments,
  type ServerOptions,
  withServerOptions,
} from "../options/server-options.ts";
import { print } from "../output/print.ts";
import { terminalOf } from "../output/terminal.ts";
import { type LockService, withLockService } from "../servers/lock-service.ts";
import { haveQuorum, setsOf } from "../servers/sets.ts";

interface DoctorArguments extends ServerArguments {
  readonly json: boolean | undefined;
  readonly require: Level;
}

/** `holdfast doctor`: checks whether servers are fit for locks. */
export const doctorCommand: CommandModule<object, DoctorArguments> = {
  command: "doctor",
  describe: "Check whether the servers are fit for locks, and which level they reach",
  builder: (yargs) =>
    withServerOptions(yargs)
      .usage(
        "$0 doctor [options]\n\n" +
          "Inspects each server, tries a lock on it, and reports the level that the servers reach:\n" +
          "efficiency, exclusion (under bounded timing), or fenced (and durable).",
      )
      .options({
        require: { choices: levels, default: "exclusion", describe: "Exit with 1 unless this level is reached" },
        json,
      }) as unknown as Argv<DoctorArguments>,
  handler: async (args) => {
    const options = await readServerOptions(args, process.env);
    if (options.memory) throw new UsageError("--memory has no servers to inspect");
    process.exitCode = await withLockService(options, {}, (service) => doctor(args, options, service));
  },
};

async function doctor(
  { require, json }: DoctorArguments,
  options: ServerOptions,
  { servers, nodeTimeoutMs }: LockService,
): Promise<number> {
  const report = await examine(servers, { ...options, nodeTimeoutMs }, require);
  print(json ? JSON.stringify(report) : renderReport(report, terminalOf(process.stdout, process.env)));
  return exitCodeOf(report);
}

function exitCodeOf({ servers, joint, ok }: Report): number {
  if (!haveQuorum(setsOf(servers, joint ?? undefined), ({ view }) => view !== null)) return exitCodes.noQuorum;
  return ok ? exitCodes.ok : exitCodes.no;
}
