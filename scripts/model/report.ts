import type { Run } from "./output.ts";
import type { Search } from "./searches.ts";
import type { Result } from "./spin.ts";

/** A search, what came of it, and what is wrong with that. */
export interface Report {
  readonly search: Search;
  readonly result: Result;
  /** The run that it found, told in plain numbers. */
  readonly run?: Run | undefined;
  readonly problems: readonly string[];
}

/** Judges what came of a search. */
export function problemsOf(search: Search, result: Result, run: Run | undefined): string[] {
  if (search.expects === "run") {
    return [
      ...(result.errors > 0 ? [] : ["no run was found: the model cannot tell it from the protocol"]),
      ...(run === undefined ? ["no run was found in plain numbers"] : []),
    ];
  }
  return [
    ...(result.errors === 0 ? [] : ["the property does not hold"]),
    ...(result.incomplete === undefined ? [] : [`the search is not complete: ${result.incomplete}`]),
    ...result.unreached.map((step) => `a step that is never taken: ${step}`),
  ];
}

/** A run for people: what happened, and who held each node with which counter after it. */
export function told({ steps, wrong }: Run): string {
  const width = Math.max(...steps.map(({ text }) => text.length));
  const nodes = steps[0]?.nodes ?? [];
  const heading = `    ${"".padEnd(width)}  ${nodes.map((_, index) => `node ${index + 1}`).join("  ")}`;
  const lines = steps.map(({ text, nodes }, index) => {
    const states = nodes.map(({ holder, counter }) => `${holder}${String(counter).padStart(3)}`.padEnd(6)).join("  ");
    return `${String(index + 1).padStart(2)}  ${text.padEnd(width)}  ${states}`.trimEnd();
  });
  return [heading, ...lines, ...(wrong === undefined ? [] : [`    ${wrong}.`])].join("\n");
}

/** All searches, as a table in Markdown. */
export function table(reports: readonly Report[]): string {
  const rows = reports.map(({ search, result, problems }) => {
    const verdict = problems.length > 0 ? "**FAILED**" : search.expects === "holds" ? "holds" : "run found";
    const figures = [result.states, result.transitions, result.depth].map((figure) => figure.toLocaleString("en"));
    return `| ${[search.title, ...figures, result.seconds.toFixed(1), verdict].join(" | ")} |`;
  });
  const heading =
    "| model | states | transitions | depth | seconds | verdict |\n| --- | ---: | ---: | ---: | ---: | --- |";
  return [heading, ...rows].join("\n");
}
