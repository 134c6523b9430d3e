import { createRequire } from "node:module";
import { colors } from "./print.ts";

const requireHere = createRequire(import.meta.url);

const noBorder = { head: [], border: [], "padding-left": 0, "padding-right": 2 };
const none = Object.fromEntries(
  ["top", "bottom", "left", "right", "mid"].flatMap((side) =>
    [side, `${side}-mid`, `${side}-left`, `${side}-right`].map((name) => [name, ""]),
  ),
);

/** Formats rows as columns under their titles, without borders, so that other tools can parse them. */
export function table(titles: readonly string[], rows: readonly (readonly string[])[]): string {
  // Loaded here, because `run` prints no tables, and synchronously, so that callers need not wait.
  const Table: typeof import("cli-table3") = requireHere("cli-table3");
  const lines = new Table({
    head: titles.map((title) => colors.dim(title)),
    chars: { ...none, middle: "" },
    style: noBorder,
  });
  // The library would merge the missing cells of neighbouring rows, and print a line more.
  lines.push(...rows.map((row) => titles.map((_, index) => row[index] ?? "")));
  return lines
    .toString()
    .split("\n")
    .map((line) => line.trimEnd())
    .join("\n");
}
