import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { run } from "../lib/run.ts";
import { withTemporaryFolder } from "../lib/temporary-folder.ts";
import { scripts } from "../lib/workspace.ts";

const empty = "export {};\n";
const waiting = "packages/core/src/waiting";

/** Returns the errors of dependency-cruiser in a workspace with these files, each on one line. */
function errorsIn(files: Readonly<Record<string, string>>): Promise<string[]> {
  return withTemporaryFolder(async (folder) => {
    for (const [path, text] of Object.entries(files)) {
      await mkdir(join(folder, dirname(path)), { recursive: true });
      await writeFile(join(folder, path), text);
    }
    const args = ["--config", join(scripts, ".dependency-cruiser.mjs"), "packages", "apps", "scripts"];
    const output = await run(join(scripts, "node_modules/.bin/depcruise"), args, folder).catch(String);
    if (!output.includes("dependencies cruised")) throw new Error(output);
    const lines = output.replaceAll(/→ *\n +/g, "→ ").split("\n");
    return lines.flatMap((line) => /^ {2}error (.*?) *$/.exec(line)?.[1] ?? []).sort();
  });
}

describe("the import rules", () => {
  it("accept imports that point down", async () => {
    const files = {
      "packages/core/src/index.ts": `import "./waiting/index.ts";`,
      [`${waiting}/index.ts`]: `import "./queue.ts";`,
      [`${waiting}/queue.ts`]: empty,
      "packages/redis/src/index.ts": `import "node:crypto";`,
      "packages/ioredis/src/index.ts": empty,
      "packages/ioredis/test/a.test.ts": `import "../src/index.ts";`,
      "packages/testkit/src/index.ts": `import "node:fs";`,
      "apps/demo/src/main.ts": empty,
      "scripts/demo.ts": `import "../apps/demo/src/main.ts";`,
    };
    expect(await errorsIn(files)).toEqual([]);
  });

  it("find every import that breaks one", async () => {
    const files = {
      "packages/core/src/index.ts":
        `import type { Stats } from "node:fs"; export type { Stats };\n` +
        `import "./waiting/queue.ts"; import "../../memory/src/index.ts";`,
      [`${waiting}/queue.ts`]: empty,
      "packages/memory/src/index.ts": empty,
      "packages/memory/src/a.ts": `import type { B } from "./b.ts"; export interface A { b: B }`,
      "packages/memory/src/b.ts": `import type { A } from "./a.ts"; export interface B { a: A }`,
      "packages/memory/test/a.test.ts": `import "../../../apps/demo/src/c.ts";`,
      "packages/other/src/index.ts": `import "./a.ts";`,
      "packages/other/src/a.ts": empty,
      "packages/redis/src/index.ts": `import "left"; import "../../ioredis/src/index.ts";`,
      "packages/ioredis/src/index.ts": `import "../../testkit/src/index.ts";`,
      "packages/testkit/src/index.ts": empty,
      "apps/demo/src/a.ts": `await import("./b.ts");`,
      "apps/demo/src/b.ts": `export * from "./a.ts";`,
      "apps/demo/src/c.ts": `import "../../../scripts/s.ts";`,
      "scripts/s.ts": `import "./gone.ts";`,
      "node_modules/left/index.js": "",
      "package.json": `{ "devDependencies": { "left": "1" } }`,
    };
    const core = "packages/core/src/index.ts";
    const byName = "packages and apps import each other by name";
    expect(await errorsIn(files)).toEqual([
      "apps import no script: apps/demo/src/c.ts → scripts/s.ts",
      `core imports no other module: ${core} → fs`,
      `core imports no other package: ${core} → packages/memory/src/index.ts`,
      `core/src/waiting is imported through its index.ts: ${core} → ${waiting}/queue.ts`,
      "every import resolves: scripts/s.ts → ./gone.ts",
      "every package has its arrows: packages/other/src/index.ts → packages/other/src/a.ts",
      "imports form no cycle: apps/demo/src/a.ts → apps/demo/src/b.ts → apps/demo/src/a.ts",
      "imports form no cycle: packages/memory/src/a.ts → packages/memory/src/b.ts → packages/memory/src/a.ts",
      "ioredis imports only redis, core: packages/ioredis/src/index.ts → packages/testkit/src/index.ts",
      `${byName}: packages/core/src/index.ts → packages/memory/src/index.ts`,
      `${byName}: packages/ioredis/src/index.ts → packages/testkit/src/index.ts`,
      `${byName}: packages/memory/test/a.test.ts → apps/demo/src/c.ts`,
      `${byName}: packages/redis/src/index.ts → packages/ioredis/src/index.ts`,
      "packages import no app or script: packages/memory/test/a.test.ts → apps/demo/src/c.ts",
      "published sources import only what users install: packages/redis/src/index.ts → node_modules/left/index.js",
      "redis imports only core: packages/redis/src/index.ts → packages/ioredis/src/index.ts",
    ]);
  });
});
