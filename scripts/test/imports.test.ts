import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { wrongImports } from "../claims/imports.ts";
import { withTemporaryFolder } from "../lib/temporary-folder.ts";

const workspace = { "packages/core/src/index.ts": "", "apps/a.ts": "", "scripts/s.ts": "" };

/** What is wrong with a workspace that has these files. */
function problemsOf(files: Readonly<Record<string, string>>): Promise<string[]> {
  return withTemporaryFolder(async (folder) => {
    for (const [path, text] of Object.entries({ ...workspace, ...files })) {
      await mkdir(join(folder, dirname(path)), { recursive: true });
      await writeFile(join(folder, path), text);
    }
    return (await wrongImports(folder)).problems;
  });
}

const empty = "export {};\n";
const waiting = "packages/core/src/waiting";

describe("wrongImports()", () => {
  it("accepts imports that point down", async () => {
    const files = {
      "packages/core/src/index.ts": `import "./waiting/index.ts";`,
      [`${waiting}/index.ts`]: `import "./queue.ts";`,
      [`${waiting}/queue.ts`]: empty,
      "packages/redis/src/index.ts": `import "../../core/src/index.ts"; import "node:crypto";`,
      "packages/ioredis/src/index.ts": `import "../../redis/src/index.ts";`,
      "packages/ioredis/test/a.test.ts": `import "../src/index.ts"; import "../../testkit/src/index.ts";`,
      "packages/testkit/src/index.ts": `import "node:fs";`,
      "apps/demo/src/main.ts": `import "../../../packages/ioredis/src/index.ts";`,
      "scripts/demo.ts": `import "../apps/demo/src/main.ts";`,
    };
    expect(await problemsOf(files)).toEqual([]);
  });

  it.each<[rule: string, files: Record<string, string>]>([
    [
      "imports form no circle: packages/memory/src/a.ts → packages/memory/src/b.ts → packages/memory/src/a.ts",
      {
        "packages/memory/src/a.ts": `import type { B } from "./b.ts"; export interface A { b: B }`,
        "packages/memory/src/b.ts": `import type { A } from "./a.ts"; export interface B { a: A }`,
      },
    ],
    [
      "imports form no circle: apps/demo/src/a.ts → apps/demo/src/b.ts → apps/demo/src/a.ts",
      {
        "apps/demo/src/a.ts": `await import("./b.ts");`,
        "apps/demo/src/b.ts": `export * from "./a.ts";`,
      },
    ],
    ["every import resolves: scripts/s.ts → ./gone.ts", { "scripts/s.ts": `import "./gone.ts";` }],
    [
      "core imports nothing from outside: packages/core/src/index.ts → fs",
      { "packages/core/src/index.ts": `import type { Stats } from "node:fs"; export type { Stats };` },
    ],
    [
      "core imports no other package: packages/core/src/index.ts → packages/memory/src/index.ts",
      {
        "packages/core/src/index.ts": `import "../../memory/src/index.ts";`,
        "packages/memory/src/index.ts": empty,
      },
    ],
    [
      `core/src/waiting is imported through its index.ts: packages/core/src/index.ts → ${waiting}/queue.ts`,
      { "packages/core/src/index.ts": `import "./waiting/queue.ts";`, [`${waiting}/queue.ts`]: empty },
    ],
    [
      "packages import no app or script: packages/memory/test/a.test.ts → apps/a.ts",
      { "packages/memory/test/a.test.ts": `import "../../../apps/a.ts";` },
    ],
    ["apps import no script: apps/a.ts → scripts/s.ts", { "apps/a.ts": `import "../scripts/s.ts";` }],
    [
      "published sources import only what users install: packages/redis/src/index.ts → node_modules/left/index.js",
      {
        "packages/redis/src/index.ts": `import "left";`,
        "node_modules/left/index.js": "",
        "package.json": `{ "devDependencies": { "left": "1" } }`,
      },
    ],
    [
      "every package has its arrows: packages/other/src/index.ts → packages/other/src/a.ts",
      { "packages/other/src/index.ts": `import "./a.ts";`, "packages/other/src/a.ts": empty },
    ],
    [
      "ioredis imports only redis, core: packages/ioredis/src/index.ts → packages/testkit/src/index.ts",
      {
        "packages/ioredis/src/index.ts": `import "../../testkit/src/index.ts";`,
        "packages/testkit/src/index.ts": empty,
      },
    ],
    [
      "redis imports only core: packages/redis/src/index.ts → packages/ioredis/src/index.ts",
      {
        "packages/redis/src/index.ts": `import "../../ioredis/src/index.ts";`,
        "packages/ioredis/src/index.ts": empty,
      },
    ],
  ])("finds: %s", async (problem, files) => {
    expect(await problemsOf(files)).toEqual([problem]);
  });
});
