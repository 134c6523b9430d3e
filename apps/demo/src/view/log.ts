import wrapAnsi from "wrap-ansi";
import type { LogLine } from "../model/model.ts";
import type { Colors } from "./text.ts";

const timeWidth = 8;

/** Returns the latest entries of the log that fit. */
export function logLines(log: readonly LogLine[], width: number, room: number, colors: Colors): readonly string[] {
  let lines: readonly string[] = [];
  for (const entry of log.toReversed()) {
    const more = [...logEntry(entry, width, colors), ...lines];
    if (more.length > room) break;
    lines = more;
  }
  return lines;
}

function logEntry({ atMs, tone, text }: LogLine, width: number, colors: Colors): readonly string[] {
  const lines = wrapAnsi(text, width - timeWidth - 1, { hard: true }).split("\n");
  return lines.map((line, index) => {
    const time = index === 0 ? `${(atMs / 1000).toFixed(1)} s` : "";
    return `${colors.dim(time.padStart(timeWidth - 1))}  ${toned(tone, line, colors)}`;
  });
}

/** Colours a line of the log by its tone. */
export function toned(tone: LogLine["tone"], text: string, { green, yellow, red }: Colors): string {
  return { plain: String, good: green, warning: yellow, bad: red }[tone](text);
}
