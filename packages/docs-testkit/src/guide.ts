/** Follows a tutorial: a Markdown page whose code blocks are files to write and commands to run. */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fromMarkdown } from "mdast-util-from-markdown";
import { visit } from "unist-util-visit";

/** The instruction of one code block. */
export type GuideStep =
  /** ```` ```ts ```` or ```` ```json ```` that begins with `// path`: write this file, replacing any earlier version. */
  | { readonly kind: "write"; readonly path: string; readonly content: string }
  /** ```` ```diff ```` that begins with `--- path`: change these lines until the next command has run. */
  | { readonly kind: "change"; readonly path: string; readonly before: string; readonly after: string }
  /** ```` ```sh ````: run these commands. They must succeed, or fail if the fence is ```` ```sh fails ````. */
  | { readonly kind: "run"; readonly commands: readonly string[]; readonly fails: boolean }
  /** ```` ```text ````: the output of the last commands contains each of these lines. */
  | { readonly kind: "see"; readonly lines: readonly string[] };

/** A step, with the page and line of its code block. */
export type PlacedStep = GuideStep & { readonly where: string };

/** The result of a command. */
export interface Outcome {
  readonly output: string;
  readonly failed: boolean;
}

/** Returns the steps of a guide, in order. Throws if a block is none of the four kinds, so that none stays untested. */
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
  throw new Error(`${where}: a guide has no such block; see GuideStep`);
}

/**
 * Follows a guide in a folder, and throws where a result differs from the guide.
 *
 * @param run runs one command in the folder as the reader would
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
      if (missing.length > 0)
        throw new Error(`${step.where}: missing in the output: ${missing.join("\n")}\nin:\n${printed}`);
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

/** Replaces lines that the file must contain exactly once, and returns a function that restores them. */
async function change(path: string, before: string, after: string, where: string): Promise<() => Promise<void>> {
  const content = await readFile(path, "utf8");
  const parts = content.split(before);
  if (parts.length !== 2) throw new Error(`${where}: ${path} contains these lines ${parts.length - 1} times`);
  await writeFile(path, parts.join(after));
  return () => writeFile(path, content);
}
