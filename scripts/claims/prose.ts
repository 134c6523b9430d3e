import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { TextlintKernel } from "@textlint/kernel";
import { expectNone } from "../lib/claim.ts";
import { run } from "../lib/run.ts";
import { root, scripts } from "../lib/workspace.ts";

const columns = 130;

/** Fails where a page, a comment, a message or a test name has a phrase that `scripts/prose.yml` refuses. */
export async function proseIsPlain(): Promise<string> {
  const listed = await run(
    "git",
    ["ls-files", "*.md", "*.ts", "*.lua", "*.sh", "*/mutants.yml", "spec/*.yml", "packages/*/src/*.json"],
    root,
  );
  const files = listed.split("\n").filter((file) => file !== "" && !file.endsWith("CHANGELOG.md"));
  const problems = await Promise.all(
    files.map(async (file) => {
      const found = await findRefused(file, await readFile(join(root, file), "utf8"));
      return found.map((problem) => `${file}:${problem}`);
    }),
  );
  expectNone(problems.flat());
  return `${files.length} files`;
}

// Loaders of ES modules disagree about the default export of these two.
const require = createRequire(import.meta.url);
const kernel = new TextlintKernel();
const options = {
  ext: ".md",
  plugins: [{ pluginId: "markdown", plugin: require("@textlint/textlint-plugin-markdown").default }],
  rules: [
    {
      ruleId: "prh",
      rule: require("textlint-rule-prh").default,
      options: { rulePaths: [join(scripts, "prose.yml")], checkEmphasis: true, checkLink: true, checkBlockQuote: true },
    },
  ],
};

/** Returns the refused phrases and the lines that are too long, each as its line and what is wrong. */
export async function findRefused(file: string, text: string): Promise<string[]> {
  const prose = file.endsWith(".md") ? text : proseOf(text);
  const { messages } = await kernel.lintText(prose, { ...options, filePath: file });
  const long = text
    .split("\n")
    .flatMap((line, index) => (isTooLong(file, line) ? [`${index + 1}: ${line.length} columns`] : []));
  return [...messages.map(({ message, line }) => `${line}: ${message}`), ...long];
}

/** Tables, links and commands cannot be wrapped. Generated pages are not read as text. */
function isTooLong(file: string, line: string): boolean {
  if (line.length <= columns || file.startsWith("docs/generated/")) return false;
  return file.endsWith(".md") ? !/^(\s*\||\d+\.\d\d |for |npx )|\]\(/.test(line) : /^\s*(?:\*|\/\/|--) /.test(line);
}

/** Returns the comments, the strings of three words or more, and the titles in a source file, each on its own line. */
function proseOf(source: string): string {
  return source
    .split("\n")
    .map((line) => {
      const comment = /^\s*(?:\/\*\*?|\*\/?|\/\/|--+|#)(?:\s(.*?))?(?:\*\/)?$/.exec(line);
      const title = /^ *- (?:fault|title): (.*)$/.exec(line);
      if (comment !== null || title !== null) return (comment ?? title)?.[1] ?? "";
      const strings = [...line.matchAll(/(["`])((?:(?!\1).)* (?:(?!\1).)* (?:(?!\1).)*)\1/g)].map(([, , text]) => text);
      const trailing = / \/\/ (.*)$/.exec(line)?.[1];
      return [...strings, trailing].filter((text) => text !== undefined).join(". ");
    })
    .join("\n");
}
