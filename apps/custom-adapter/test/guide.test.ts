import { readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { guideSteps } from "@holdfast/docs-testkit";
import { expect, test } from "vitest";

const app = fileURLToPath(new URL("..", import.meta.url));

test("the guide shows the template, and files of the published adapter, unchanged", async () => {
  const written = new Map<string, string>();
  for (const step of await guideSteps(join(app, "README.md"))) {
    if (step.kind === "write") written.set(step.path, step.content);
  }
  const published = ["acquire.ts", "extend.ts", "floor.ts", "inspect.ts", "lock-file.ts", "release.ts", "watch.ts"];
  const files = ["src/template.ts", ...published.map((file) => `../../packages/sqlite/src/${file}`)];
  for (const file of files) {
    const shown = `src/${basename(file)}`;
    expect(written.get(shown), shown).toBe(`// ${shown}\n${await readFile(join(app, file), "utf8")}`);
  }
});
