import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { guideSteps } from "@holdfast/docs-testkit";
import { expect, test } from "vitest";

const app = fileURLToPath(new URL("..", import.meta.url));

test("the guide shows files of the published adapter unchanged", async () => {
  const written = new Map<string, string>();
  for (const step of await guideSteps(join(app, "README.md"))) {
    if (step.kind === "write") written.set(step.path, step.content);
  }
  for (const file of ["acquire.ts", "extend.ts", "floor.ts", "inspect.ts", "lock-file.ts", "release.ts", "watch.ts"]) {
    const published = await readFile(join(app, "../../packages/sqlite/src", file), "utf8");
    expect(written.get(`src/${file}`), file).toBe(`// src/${file}\n${published}`);
  }
});
