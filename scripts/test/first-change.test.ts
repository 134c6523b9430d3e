import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fromMarkdown } from "mdast-util-from-markdown";
import { visit } from "unist-util-visit";
import { expect, test } from "vitest";
import { root } from "../lib/workspace.ts";
import { openCoreTests } from "../mutants/core-tests.ts";

const read = (path: string): Promise<string> => readFile(join(root, path), "utf8");
const steps = await stepsOf("A first change in ten minutes");
const commands = steps.flatMap(({ commands }) => commands);
const core = "packages/core/src/";

/** The steps of the numbered list under a heading of CONTRIBUTING.md: the code in their text, and their commands. */
async function stepsOf(heading: string): Promise<{ texts: string[]; commands: string[] }[]> {
  const [, section = ""] = (await read("CONTRIBUTING.md")).split(`## ${heading}\n`);
  const found: { texts: string[]; commands: string[] }[] = [];
  visit(fromMarkdown(section.split(/^## /m)[0] ?? ""), "listItem", (item) => {
    const texts: string[] = [];
    const lines: string[] = [];
    visit(item, "inlineCode", ({ value }) => void texts.push(value));
    visit(item, "code", ({ value }) => void lines.push(...value.split("\n")));
    const inText = texts.filter((text) => /^(pnpm|npx) /.test(text));
    found.push({ texts, commands: [...lines, ...inText].map((line) => line.replace(/\s+#.*$/, "")) });
  });
  return found;
}

test("CONTRIBUTING.md's first change has five steps", () => {
  expect(steps).toHaveLength(5);
});

test("CONTRIBUTING.md's first change breaks a line of core, and the names of the failing tests state facts", async () => {
  const [path = "", from = "", to = ""] = steps[1]?.texts ?? [];
  expect(path.startsWith(core) && existsSync(join(root, path)), path).toBe(true);
  expect((await read(path)).split(from), `pieces around ${from} in ${path}`).toHaveLength(2);
  const tests = await openCoreTests();
  const failures = await tests.run({ file: path.slice(core.length), from, to }, { file: "locks/acquire" });
  await tests.close();
  const first = failures.get("locks/acquire") ?? "";
  expect(first).toMatch(/^\S+\(\) \w+s .* /);
  expect(await read("packages/core/test/locks/acquire.test.ts")).toContain(first);
});

test("CONTRIBUTING.md's first change names commands that exist", async () => {
  const { scripts, devDependencies } = JSON.parse(await read("package.json"));
  const known = { pnpm: [...Object.keys(scripts), "changeset"], npx: Object.keys(devDependencies) };
  expect(commands.map((command) => command.split(" ", 2).join(" "))).toEqual(
    expect.arrayContaining(["pnpm test", "npx vitest", "pnpm format", "pnpm check", "pnpm changeset"]),
  );
  for (const command of commands) {
    const [runner = "", name] = command.split(" ");
    expect(known[runner as keyof typeof known], command).toContain(name);
  }
  expect(devDependencies).toHaveProperty("@changesets/cli");
});

test("CONTRIBUTING.md's first change runs the tests of a project that exists", () => {
  const projects = commands.flatMap((command) => /--project (\S+)/.exec(command)?.[1] ?? []);
  expect(projects.length).toBeGreaterThan(0);
  for (const project of projects) expect(existsSync(join(root, "packages", project, "test")), project).toBe(true);
});

test("CONTRIBUTING.md's first change names words that each select a claim", async () => {
  const source = await read("scripts/check.ts");
  const claims = [...source.matchAll(/claim: (["`])(.*?)\1/g)].map(([, , claim = ""]) => claim);
  const words = commands.flatMap((command) => /^pnpm check (.*)/.exec(command)?.[1]?.split(" ") ?? []);
  expect(words.length).toBeGreaterThan(0);
  for (const word of words) expect(claims.join("\n"), word).toContain(word);
});
