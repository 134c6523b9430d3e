import { readdir, readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { runExample } from "../src/index.ts";

const core = fileURLToPath(new URL("../../core/", import.meta.url));

/** Declarations that the examples assume. */
const preamble = `
import { Redlock } from "@holdfast/core";
import { memoryNode } from "@holdfast/memory";
const shared = new Redlock([memoryNode(), memoryNode(), memoryNode()]);
`;

/** Returns the code of the `@example` blocks in the sources of core. */
async function examples(): Promise<string[]> {
  const files = await readdir(`${core}src`);
  const sources = await Promise.all(
    files.filter((name) => name.endsWith(".ts")).map((name) => readFile(`${core}src/${name}`, "utf8")),
  );
  return sources.flatMap((source) =>
    [...source.matchAll(/@example\n\s*\* ```ts\n([\s\S]*?)\s*\* ```/g)].map(([, code = ""]) =>
      code.replace(/^\s*\* ?/gm, ""),
    ),
  );
}

it("the examples in the doc comments of core run", async () => {
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
  const printed = await runExample([preamble, ...imports, ...scopes].join("\n"), core);
  expect(printed).toContain("alone with it");
  expect(printed).toContain("true");
}, 90_000);
