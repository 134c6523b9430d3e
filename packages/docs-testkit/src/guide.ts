/** Follows a Markdown page that tells its reader, step by step, what to write and what to run. */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fromMarkdown } from "mdast-util-from-markdown";
import { visit } from "unist-util-visit";

/** What one code block of a guide asks for. */
export type GuideStep =
  /** ```` ```ts ```` or ```` ```json ```` that begins with `// path`: write this file, or write it anew. */
  | { readonly kind: "write"; readonly path: string; readonly content: string }
  /** ```` ```diff ```` that begins with `--- path`: change these lines, until the next command has been run. */
  | { readonly kind: "change"; readonly path: string; readonly before: string; readonly after: string }
  /** ```` ```sh ````: run these commands. They fail when the fence says so: ```` ```sh fails ````. */
  | { readonly kind: "run"; readonly commands: readonly string[]; readonly fails: boolean }
  /** ```` ```text ````: each of these lines is among what the last commands printed. */
  | { readonly kind: "see"; readonly lines: readonly string[] };

/** A step, and where the guide asks for it. */
export type PlacedStep = GuideStep & { readonly where: string };

/** How a command ended. */
export interface Outcome {
  readonly output: string;
  readonly failed: boolean;
}

/** The steps of a guide, in order. A block that is none of the four is refused, so that nothing is left untested. */
export async function guideSteps(page: string): Promise<readonly PlacedStep[]> {
  const steps: PlacedStep[] = [];
  visit(fromMarkdown(await readFile(page)), "code", ({ lang, meta, value, position }) => {
    const where = `${page}:${position?.start.line}`;
    steps.push({ ...stepOf(lang ?? "", meta ?? "", value, where), where });
  });
  return steps;
}

function stepOf(lang: string, info: string, text: string, where: string): GuideStep {
  const lines = text.split("\n");
  if (lang === "ts" || lang === "json") {
    const [, path] = /^\/\/ (\S+)$/.exec(lines[0] ?? "") ?? [];
    if (path) return { kind: "write", path, content: `${text}\n` };
  }
  if (lang === "diff") {
    const [, path] = /^--- (\S+)$/.exec(lines[0] ?? "") ?? [];
    const side = (sign: string): string =>
      lines
        .slice(1)
        .filter((line) => line.startsWith(sign) || line.startsWith(" "))
        .map((line) => `${line.slice(1)}\n`)
        .join("");
    if (path) return { kind: "change", path, before: side("-"), after: side("+") };
  }
  if (lang === "sh" && (info === "" || info === "fails")) return { kind: "run", commands: lines, fails: info !== "" };
  if (lang === "text") return { kind: "see", lines };
  throw new Error(`${where}: a guide has no use for this block; see GuideStep`);
}

/**
 * Does what a guide says, in a folder, and fails where something does not come out as the guide says.
 *
 * @param steps what to do
 * @param folder where
 * @param run runs one command there, as the reader would, and tells how it ended
 */
export async function followGuide(
  steps: readonly PlacedStep[],
  folder: string,
  run: (command: string) => Promise<Outcome>,
): Promise<void> {
  let printed = "";
  const undo: (() => Promise<void>)[] = [];
  for (const step of steps) {
    if (step.kind === "write") await write(join(folder, step.path), step.content);
    if (step.kind === "change") undo.push(await change(join(folder, step.path), step.before, step.after, step.where));
    if (step.kind === "see") {
      const missing = step.lines.filter((line) => !printed.includes(line.trim()));
      if (missing.length > 0) throw new Error(`${step.where}: not seen: ${missing.join("\n")}\nin:\n${printed}`);
    }
    if (step.kind === "run") {
      const outcomes: Outcome[] = [];
      for (const command of step.commands) outcomes.push(await run(command));
      printed = outcomes.map(({ output }) => output).join("");
      const failed = outcomes.some((outcome) => outcome.failed);
      if (failed !== step.fails) throw new Error(`${step.where}: ${failed ? "failed" : "did not fail"}:\n${printed}`);
      for (const takeBack of undo.splice(0)) await takeBack();
    }
  }
}

async function write(path: string, content: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, content);
}

/** Replaces lines that must be there exactly once, and returns what puts them back. */
async function change(path: string, before: string, after: string, where: string): Promise<() => Promise<void>> {
  const content = await readFile(path, "utf8");
  const parts = content.split(before);
  if (parts.length !== 2) throw new Error(`${where}: these lines are in ${path} ${parts.length - 1} times`);
  await writeFile(path, parts.join(after));
  return () => writeFile(path, content);
}
