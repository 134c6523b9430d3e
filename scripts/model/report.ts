import { markdownTable } from "../lib/markdown.ts";
import type { Run } from "./output.ts";
import type { Search } from "./searches.ts";
import type { Result } from "./spin.ts";

/** A search, its result, and the problems with it. */
export interface Report {
  readonly search: Search;
  readonly result: Result;
  /** The run that it found, with small numbers. */
  readonly run?: Run | undefined;
  readonly problems: readonly string[];
}

/** Returns the problems with the result of a search. */
export function problemsOf(search: Search, result: Result, run: Run | undefined): string[] {
  if (search.expects === "run") {
    return [
      ...(result.errors > 0 ? [] : ["found no run: the model cannot distinguish it from the protocol"]),
      ...(run === undefined && search.model === undefined ? ["found no run with small numbers"] : []),
    ];
  }
  return [
    ...(result.errors === 0 ? [] : ["the property does not hold"]),
    ...(result.incomplete === undefined ? [] : [`the search is not complete: ${result.incomplete}`]),
    ...(search.model === undefined ? result.unreached : []).map((step) => `a step that is never taken: ${step}`),
  ];
}

/** Returns a run as text: each step, with the holders and counter of each node after it. */
export function told({ steps, wrong }: Run): string {
  const width = Math.max(...steps.map(({ text }) => text.length));
  const nodes = steps[0]?.nodes ?? [];
  const heading = `    ${"".padEnd(width)}  ${nodes.map((_, index) => `node ${index + 1}`).join("  ")}`;
  const lines = steps.map(({ text, nodes }, index) => {
    const states = nodes
      .map(({ holders, counter }) => `${holders}${String(counter).padStart(4 - holders.length)}`.padEnd(6))
      .join("  ");
    return `${String(index + 1).padStart(2)}  ${text.padEnd(width)}  ${states}`.trimEnd();
  });
  return [heading, ...lines, ...(wrong === undefined ? [] : [`    ${wrong}.`])].join("\n");
}

/** Returns all searches as a Markdown table. */
export function table(reports: readonly Report[]): string {
  const rows = reports.map(({ search, result, problems }) => {
    const verdict = problems.length > 0 ? "**FAILED**" : search.expects === "holds" ? "holds" : "run found";
    const figures = [result.states, result.transitions, result.depth].map((figure) => figure.toLocaleString("en"));
    return [search.title, ...figures, result.seconds.toFixed(1), verdict];
  });
  return markdownTable(["model", "states", "transitions", "depth", "seconds", "verdict"], rows);
}
