import { checkHistory, type HistoryFinding, type HistoryVerdict } from "@holdfast/history";
import { formatLines } from "@holdfast/history/checks";
import type { Argv, CommandModule } from "yargs";
import { exitCodes, Failure } from "../exit-codes.ts";
import { inOptionNames } from "../failures.ts";
import { json, text } from "../options/definitions.ts";
import { parseDuration } from "../options/duration.ts";
import { only } from "../options/server-options.ts";
import { colors, print, printable } from "../output/print.ts";

interface CheckArguments {
  readonly files: readonly string[];
  readonly "clocks-differ": string | undefined;
  readonly json: boolean | undefined;
}

const codes = { correct: exitCodes.ok, violated: exitCodes.no, undecided: exitCodes.undecided };

/** `holdfast check`: judges recorded histories. */
export const checkCommand: CommandModule<object, CheckArguments> = {
  command: "check <files..>",
  describe: "Check recorded histories of locks and of the data that they protect",
  builder: (yargs) =>
    yargs
      .usage(
        "$0 check <files..> [options]\n\n" +
          "Checks the files that @holdfast/history has recorded, those of all processes together: whether locks\n" +
          "excluded each other, tokens grew, no stale write was accepted, and each value is linearizable.",
      )
      .positional("files", { type: "string", array: true, describe: "The files, one for each start of a process" })
      .options({
        "clocks-differ": {
          ...text,
          describe: "By how much the wall clocks of the machines differed at most; required for several machines",
        },
        json,
      }) as unknown as Argv<CheckArguments>,
  handler: async ({ files, json, "clocks-differ": differ }) => {
    const given = only("--clocks-differ", differ);
    const clocksDifferMs = given === undefined ? undefined : Math.max(1, parseDuration("--clocks-differ", given));
    const verdict = await checkHistory(files, { clocksDifferMs }).catch((error) => {
      throw error.code === "HISTORY" ? new Failure(inOptionNames(error.message), exitCodes.data) : error;
    });
    print(json ? JSON.stringify(verdict) : textOf(verdict, files.length));
    process.exitCode = codes[verdict.verdict];
  },
};

function textOf({ verdict, ...shown }: HistoryVerdict, files: number): string {
  const color = { correct: colors.green, violated: colors.red, undecided: colors.yellow }[verdict];
  const found = shown.findings.flatMap((finding) => [sectionOf(finding), ""]);
  const more = shown.violations - shown.findings.filter(({ rule }) => rule !== "undecided").length;
  const counted = (count: number, one: string, many: string): string => `${count} ${count === 1 ? one : many}`;
  const judged = `${counted(shown.locks, "lock", "locks")} and ${counted(shown.accesses, "access", "accesses")}`;
  return [
    ...found,
    ...(more > 0 ? [`… and ${more} more violations`, ""] : []),
    ...shown.truncated.map((file) => `${printable(file)}: the last line is incomplete, and left out`),
    `${color(verdict)}: ${judged} in ${counted(files, "file", "files")}`,
  ].join("\n");
}

function sectionOf({ rule, resource, what, timeline }: HistoryFinding): string {
  const lines = timeline.map(({ atMs, who, what: event }) => ({ atMs, who: printable(who), what: printable(event) }));
  return `${colors.bold(`${rule} of ${printable(resource)}`)}: ${printable(what)}\n\n${formatLines(lines)}`;
}
