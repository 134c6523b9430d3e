/** The figures that the verifier prints at the end of a search. */
export interface Outcome {
  readonly errors: number;
  readonly states: number;
  readonly transitions: number;
  readonly depth: number;
  /** Why the search counts as incomplete, if it does. */
  readonly incomplete?: string;
  /** Steps of the model that were never taken, except those that mark a failure. */
  readonly unreached: readonly string[];
}

/** Reads the output of the verifier. A search with any figure missing counts as incomplete. */
export function readOutcome(output: string): Outcome {
  const figure = (pattern: RegExp): number => Number(pattern.exec(output)?.[1] ?? Number.NaN);
  const figures = {
    errors: figure(/errors: (\d+)/),
    states: figure(/^\s*(\S+) states, stored/m),
    transitions: figure(/^\s*(\S+) transitions/m),
    depth: figure(/depth reached (\d+)/),
  };
  return { ...figures, ...incompleteness(output, figures), unreached: unreached(output) };
}

function incompleteness(output: string, figures: Readonly<Record<string, number>>): { incomplete?: string } {
  const remark = /^.*(?:search not completed|too small|out of memory|MEMLIM|hash factor|aborted).*$/im.exec(
    output,
  )?.[0];
  if (remark !== undefined) return { incomplete: remark.trim() };
  const missing = Object.keys(figures).find((name) => Number.isNaN(figures[name]));
  return missing === undefined ? {} : { incomplete: `the verifier printed no ${missing}` };
}

/** Leaves out the end of the process, which never ends, and the assertion that fails when a search succeeds. */
function unreached(output: string): string[] {
  const lines = output.match(/^\t.*, state \d+, ".*"$/gm) ?? [];
  return lines.map((line) => line.trim()).filter((line) => !/"(?:-end-|assert\(0\))"$/.test(line));
}

/** One step of a run, and the holders and counter of each node after it. */
export interface Step {
  readonly text: string;
  readonly nodes: readonly { readonly holders: string; readonly counter: number }[];
}

/** A run of the model, step by step, and the violation at its end. */
export interface Run {
  readonly steps: readonly Step[];
  readonly wrong?: string;
}

/** Reads the output of the model when the verifier replays a run. */
export function readRun(output: string): Run {
  const steps: Step[] = [];
  let texts: string[] = [];
  let wrong: string | undefined;
  for (const [, kind, text = ""] of output.matchAll(/^\s*(STEP|ALSO|WRONG|NODES) (.*)$/gm)) {
    if (kind === "STEP") texts = [text];
    else if (kind === "ALSO") texts.push(text);
    else if (kind === "WRONG") wrong = text;
    else steps.push({ text: texts.join("; "), nodes: text.split(" ").map(readNode) });
  }
  return wrong === undefined ? { steps } : { steps, wrong };
}

function readNode(text: string): Step["nodes"][number] {
  const [holders = 0, counter = 0] = text.split(":").map(Number);
  const names = ["A", "B", "C"].filter((_, index) => holders & (2 << index));
  return { holders: names.join("") || "–", counter };
}
