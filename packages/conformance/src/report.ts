import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Settings } from "./settings.ts";
import type { Offers } from "./topics.ts";
import { mistakesText, type Result } from "./verdict.ts";

/** The contents of a report. */
export interface Findings {
  readonly name: string;
  readonly offers: Offers;
  readonly settings: Pick<Settings, "cannot" | "noServer" | "noOtherProcess" | "repetition">;
  readonly topics: readonly { readonly title: string; readonly results: readonly Result[] }[];
  /** How many tests apply to the node, and were left out by the option `only`. */
  readonly unselected: number;
}

/** Writes the report of one node to the folder that the environment variable names, if it is set. */
export async function writeReport(findings: Findings): Promise<void> {
  const folder = process.env.HOLDFAST_CONFORMANCE_REPORT;
  if (!folder) return;
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, `${fileName(findings.name)}.md`), reportOf(findings));
}

/** Returns the report of one node: a Markdown page to paste into an adapter's README. */
function reportOf({ name, offers, settings, topics, unselected }: Findings): string {
  const results = topics.flatMap((topic) => topic.results);
  const { repetition } = settings;
  const isWhole = unselected === 0 && repetition >= 1;
  const verdict = !isPassed(results) ? "**Not passed**" : isWhole ? "Passed" : "**Not the whole suite**";
  const leftOut = unselected === 0 ? "" : ` ${unselected} more were left out.`;
  const races = repetition === 1 ? "" : ` Races were repeated ${repetition} times as often as by default.`;
  const open = results.filter(({ outcome }) => outcome() !== "passed");
  const parts = [
    `### Conformance of ${name}`,
    `${verdict}: ${countOf(results)} facts, by \`@holdfast/conformance\` ${suiteVersion()}.${leftOut}${races}`,
    mistakesText(results),
    open.length > 0 ? `Not passed:\n\n${open.map(openLine).join("\n")}` : undefined,
    table(
      ["topic", "facts", "result"],
      topics.map((topic) => [
        topic.title,
        countOf(topic.results),
        isPassed(topic.results) ? "passed" : "**not passed**",
      ]),
    ),
    table(["capability", ""], capabilities(offers, settings)),
  ];
  return `${parts.filter(Boolean).join("\n\n")}\n`;
}

/** Returns the line of a fact that has not passed. */
function openLine({ statement, outcome, mistake }: Result): string {
  return [`- ${statement} (${outcome()})`, outcome() === "failed" ? mistake() : undefined].filter(Boolean).join(": ");
}

function capabilities(offers: Offers, settings: Findings["settings"]): readonly (readonly string[])[] {
  const { cannot, noServer, noOtherProcess } = settings;
  const tested = (reason: string | undefined): string => (reason === undefined ? "tested" : `not tested: ${reason}`);
  const yes = (offered: boolean): string => (offered ? "yes" : "not offered");
  return [
    ["`watch`: waiting clients are notified", yes(offers.watch)],
    ["`waiter`: releases name the next waiter", yes(offers.waitingLists)],
    ["`inspect`: shows the holder of a resource", yes(offers.inspect)],
    ["`close`: ends watches", yes(offers.close)],
    ["`raiseFloor` and `scan`: servers can be replaced", yes(offers.floor)],
    ["outages and connections", tested(noServer)],
    ["exclusion between processes", tested(noOtherProcess)],
    ...[...cannot].map(([limit, reason]) => [`\`${limit}\``, `cannot: ${reason}`]),
  ];
}

function isPassed(results: readonly Result[]): boolean {
  return results.every(({ outcome }) => outcome() === "passed");
}

function countOf(results: readonly Result[]): string {
  return `${results.filter(({ outcome }) => outcome() === "passed").length} of ${results.length}`;
}

/** Returns a Markdown table. */
function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const row = (cells: readonly string[]): string => `| ${cells.map(escaped).join(" | ")} |`;
  return [row(header), row(header.map(() => "---")), ...rows.map(row)].join("\n");
}

function escaped(cell: string): string {
  return cell.replaceAll("\\", "\\\\").replaceAll("|", "\\|").replaceAll("\n", " ");
}

/** Returns the letters and digits of the name, and a digest that separates names with the same words. */
function fileName(name: string): string {
  const words = name.match(/[\p{L}\p{N}]+/gu)?.join("-") ?? "";
  const digest = createHash("sha256").update(name).digest("hex").slice(0, 8);
  // Short enough for a file system in any alphabet.
  return `${[...words].slice(0, 60).join("")}-${digest}`.replace(/^-/, "");
}

function suiteVersion(): string {
  return JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")).version;
}
