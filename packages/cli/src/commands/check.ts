import { checkHistory, type HistoryFinding, type HistoryVerdict } from "@holdfast/history";
import { formatLines } from "@holdfast/history/checks";
import { type Command, command } from "../command.ts";
import { exitCodes, Failure } from "../exit-codes.ts";
import { inOptionNames } from "../failures.ts";
import { json, list, parseDuration, parsed } from "../options/option.ts";
import { colors, print, printable } from "../output/print.ts";

const codes = { correct: exitCodes.ok, violated: exitCodes.no, undecided: exitCodes.undecided };

/** `holdfast check`: judges recorded histories. */
export const checkCommand: Command = command(
  {
    line: "check <files..>",
    describe: "Check recorded histories of locks and of the data that they protect",
    text:
      "Checks the files that @holdfast/history has recorded, those of all processes together: whether locks\n" +
      "excluded each other, tokens grew, no stale write was accepted, and each value is linearizable.",
    words: { files: list("The files, one for each start of a process") },
    options: {
      "clocks-differ": parsed(
        parseDuration,
        "By how much the wall clocks of the machines differed at most; required for several machines",
      ),
      json,
    },
  },
  async ({ files, json, "clocks-differ": differMs }) => {
    const clocksDifferMs = differMs === undefined ? undefined : Math.max(1, differMs);
    const verdict = await checkHistory(files, { clocksDifferMs }).catch((error) => {
      throw error.code === "HISTORY" ? new Failure(inOptionNames(error.message), exitCodes.data) : error;
    });
    print(json ? JSON.stringify(verdict) : textOf(verdict, files.length));
    return codes[verdict.verdict];
  },
);

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
