import { stripVTControlCharacters } from "node:util";
import { colors, printable } from "../output.ts";
import { table } from "../table.ts";
import type { Terminal } from "../terminal.ts";
import type { ClockFacts, ServerFacts, ServerView } from "./facts.ts";
import { longMs, shortMs } from "./format.ts";
import { versionOf } from "./set-rules.ts";

const titles = ["server", "version", "median", "99%", "clock", "up", "on disk"];

const leastNameWidth = 16;

/** A table with one line for each server. Names are cut where it does not fit otherwise: findings tell them whole. */
export function renderServers(servers: readonly ServerFacts[], { width, isUnicode }: Terminal): string {
  const draw = (nameWidth: number): string => {
    const nameOf = ({ name }: ServerFacts): string =>
      name.length <= nameWidth ? name : `${name.slice(0, nameWidth - 1)}${isUnicode ? "…" : "~"}`;
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
  return view === null ? [colors.red("cannot be used")] : seenOf(view);
}

function seenOf({ info, latency, clock, appendfsync }: ServerView): string[] {
  const unknown = "?";
  return [
    info === null ? unknown : printable(versionOf(info)),
    shortMs(latency.medianMs),
    shortMs(latency.p99Ms),
    clock === null ? unknown : differenceOf(clock),
    info === null ? unknown : longMs(info.uptimeMs),
    info === null ? unknown : info.appendonly ? printable(appendfsync ?? unknown) : "no",
  ];
}

/** No more than is certain. */
function differenceOf({ aheadMs, uncertaintyMs }: ClockFacts): string {
  if (Math.abs(aheadMs) <= uncertaintyMs) return `< ${shortMs(uncertaintyMs)}`;
  return `${aheadMs < 0 ? "-" : "+"}${shortMs(Math.abs(aheadMs))}`;
}
