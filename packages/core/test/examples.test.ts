import { readdir, readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { runExample } from "@holdfast/testkit";
import { expect, it } from "vitest";

const packageDirectory = fileURLToPath(new URL("..", import.meta.url));

/** What every example in a doc comment may take for granted. */
const preamble = `
import { Redlock } from "@holdfast/core";
import { memoryNode } from "@holdfast/memory";
const shared = new Redlock([memoryNode(), memoryNode(), memoryNode()]);
`;

/** The `@example` blocks of the doc comments in `src`, each in a scope of its own. */
async function examples(): Promise<string[]> {
  const files = await readdir(`${packageDirectory}src`);
  const sources = await Promise.all(
    files.filter((name) => name.endsWith(".ts")).map((name) => readFile(`${packageDirectory}src/${name}`, "utf8")),
  );
  return sources.flatMap((source) =>
    [...source.matchAll(/@example\n\s*\* ```ts\n([\s\S]*?)\s*\* ```/g)].map(([, code = ""]) =>
      code.replace(/^\s*\* ?/gm, ""),
    ),
  );
}

it("the examples in doc comments run", async () => {
  const all = await examples();
  expect(all.length).toBeGreaterThanOrEqual(7);
  const imports: string[] = [];
  const scopes = all.map((example) => {
    const code = example.replace(/^import .*$/gm, (line) => {
      imports.push(line);
      return "";
    });
    const ownsRedlock = code.includes("const redlock =");
    return `await (async () => {\n${ownsRedlock ? "" : "const redlock = shared;\n"}${code}\n})();`;
  });
  const printed = await runExample([preamble, ...imports, ...scopes].join("\n"), packageDirectory);
  expect(printed).toContain("alone with it");
  expect(printed).toContain("true");
}, 60_000);
