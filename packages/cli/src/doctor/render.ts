import { stripVTControlCharacters } from "node:util";
import { listed, longMs, shortMs, wrapped } from "../output/format.ts";
import { colors, printable } from "../output/print.ts";
import { table } from "../output/table.ts";
import type { ClockFacts, ServerFacts } from "./facts.ts";
import { type Level, levelDescriptions, levels } from "./finding-kind.ts";
import { type Finding, findingsAgainst, type Report } from "./judge.ts";

/** Formats the report for people, in lines of this width. */
export function renderReport(report: Report, width: number): string {
  const { servers, findings } = report;
  return [
    headingOf(report),
    renderServers(servers, width),
    ...grouped(findings).map((group) => renderGroup(group, servers.length, width)),
    renderVerdict(report, width),
  ].join("\n\n");
}

function headingOf({ servers, joint, quorum, mayFail }: Report): string {
  const number = servers.length === 1 ? "1 lock server" : `${servers.length} lock servers`;
  const failures = `${mayFail === 0 ? "none" : mayFail} may fail`;
  if (joint === null) return `${number}: a quorum is ${quorum}, ${failures}`;
  return `${number}, ${joint.old.length} in the old set and ${joint.new.length} in the new: ${failures}`;
}

/** All findings of one kind: the names of the servers by message. */
interface Group {
  readonly kind: Finding;
  readonly serversByMessage: ReadonlyMap<string, readonly string[]>;
}

function grouped(findings: readonly Finding[]): readonly Group[] {
  return [...new Set(findings.map(({ code }) => code))].map((code) => {
    const alike = findings.filter((finding) => finding.code === code);
    const serversByMessage = new Map<string, string[]>();
    for (const { message, server } of alike) {
      serversByMessage.set(message, [...(serversByMessage.get(message) ?? []), ...(server === null ? [] : [server])]);
    }
    return { kind: alike[0] as Finding, serversByMessage };
  });
}

const paints = { error: colors.red, warning: colors.yellow, notice: colors.cyan } as const;
const indent = "  ";

function renderGroup({ kind, serversByMessage }: Group, all: number, width: number): string {
  const { code, severity, remedy } = kind;
  const inside = width - indent.length;
  const facts = [...serversByMessage].flatMap(([message, servers]) => {
    return wrapped(printable(`${sentenceOf(servers, all, message)}.`), inside);
  });
  const advice = wrapped(remedy, inside).map((line) => colors.dim(line));
  return [
    `${paints[severity](severity)} ${colors.bold(code)}`,
    ...[...facts, ...advice].map((line) => indent + line),
  ].join("\n");
}

/** Returns a sentence: a message about a server continues after its name. Names keep their case. */
function sentenceOf(servers: readonly string[], all: number, message: string): string {
  if (servers.length === 0) return message.charAt(0).toUpperCase() + message.slice(1);
  if (servers.length === 1) return `${servers[0]} ${message}`;
  return servers.length === all ? `Each server ${message}` : `${listed(servers)}: each ${message}`;
}

function renderVerdict(report: Report, width: number): string {
  const { level, findings, ok, required } = report;
  const remarks = [
    ...(level === "fenced" ? ["The doctor cannot see whether your storage checks the tokens."] : []),
    ...timeoutAdvice(report),
    ...(ok ? [] : [`Not fit: the required level is ${required}.`]),
  ];
  return [
    ...levels.map((each) => renderLevel(each, findings, width)),
    ...remarks.map((remark) => `\n${wrapped(remark, width).join("\n")}`),
  ].join("\n");
}

function timeoutAdvice({ recommendedNodeTimeoutMs: recommendedMs, ttlMs, nodeTimeoutMs }: Report): string[] {
  if (recommendedMs === null) return [];
  return [
    `Node timeout: ${longMs(recommendedMs)} is recommended for a ttl of ${longMs(ttlMs)}; ${longMs(nodeTimeoutMs)} is set.`,
  ];
}

function renderLevel(level: Level, findings: readonly Finding[], width: number): string {
  const missing = new Set(findingsAgainst(level, findings).map(({ code }) => code));
  const { title, promise } = levelDescriptions[level];
  const margin = "    ";
  const isReached = missing.size === 0;
  const mark = isReached ? colors.green("yes") : colors.red("no ");
  const text = isReached ? promise : `Not reached: ${[...missing].join(", ")}.`;
  return [`${mark} ${colors.bold(title)}`, ...wrapped(text, width - margin.length).map((line) => margin + line)].join(
    "\n",
  );
}

const titles = ["server", "version", "median", "99%", "clock", "up", "on disk"];

const leastNameWidth = 16;

/** Formats a table with a line for each server. Long names are cut to fit; the findings show them in full. */
function renderServers(servers: readonly ServerFacts[], width: number): string {
  const draw = (nameWidth: number): string => {
    const nameOf = ({ name }: ServerFacts): string =>
      name.length <= nameWidth ? name : `${name.slice(0, nameWidth - 1)}~`;
    return table(
      titles,
      servers.map((server) => [nameOf(server), ...cellsOf(server)]),
    );
  };
  const longest = Math.max(...servers.map(({ name }) => name.length));
  const lines = stripVTControlCharacters(draw(longest)).split("\n");
  const excess = Math.max(0, ...lines.map((line) => line.length - width));
  return draw(Math.max(leastNameWidth, longest - excess));
}

function cellsOf({ view }: ServerFacts): string[] {
  if (view === null) return [colors.red("cannot be used")];
  const { latency, clock, summary } = view;
  const { version, uptimeMs, onDisk } = summary;
  const unknown = "?";
  return [
    printable(version ?? unknown),
    latency === null ? unknown : shortMs(latency.medianMs),
    latency === null ? unknown : shortMs(latency.p99Ms),
    clock === null ? unknown : differenceOf(clock),
    uptimeMs === null ? unknown : longMs(uptimeMs),
    printable(onDisk ?? unknown),
  ];
}

/** Formats a clock difference, or its upper bound if that is all that is certain. */
function differenceOf({ aheadMs, uncertaintyMs }: ClockFacts): string {
  if (Math.abs(aheadMs) <= uncertaintyMs) return `< ${shortMs(uncertaintyMs)}`;
  return `${aheadMs < 0 ? "-" : "+"}${shortMs(Math.abs(aheadMs))}`;
}
