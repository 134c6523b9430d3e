import { type Command, serverCommand } from "../command.ts";
import { examine } from "../doctor/collect.ts";
import { levels } from "../doctor/finding-kind.ts";
import type { Report } from "../doctor/judge.ts";
import { renderReport } from "../doctor/render.ts";
import { exitCodes } from "../exit-codes.ts";
import { json, oneOf } from "../options/option.ts";
import { lineWidth } from "../output/format.ts";
import { print } from "../output/print.ts";
import { withLockService } from "../servers/lock-service.ts";
import { haveQuorum, setsOf } from "../servers/sets.ts";

/** `holdfast doctor`: checks whether servers are fit for locks. */
export const doctorCommand: Command = serverCommand(
  {
    line: "doctor",
    describe: "Check whether the servers are fit for locks, and which level they reach",
    text:
      "Inspects each server, tries a lock on it, and reports the level that the servers reach:\n" +
      "efficiency, exclusion (under bounded timing), or fenced (and durable).",
    memory: "inspect",
    options: {
      require: oneOf(levels, "Exit with 1 unless this level is reached", { usual: "exclusion" }),
      json,
    },
  },
  async ({ require = "exclusion", json }, options) =>
    withLockService(options, {}, async ({ servers, nodeTimeoutMs }) => {
      const report = await examine(servers, { ...options, nodeTimeoutMs }, require);
      print(json ? JSON.stringify(report) : renderReport(report, lineWidth(80)));
      return exitCodeOf(report);
    }),
);

function exitCodeOf({ servers, joint, ok }: Report): number {
  if (!haveQuorum(setsOf(servers, joint ?? undefined), ({ view }) => view !== null)) return exitCodes.noQuorum;
  return ok ? exitCodes.ok : exitCodes.no;
}
