import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { runMigration } from "../../src/migrate/command-line.ts";

let folder: string;
let printed: string[];
const before = 'import Redlock from "redlock";\n\nnew Redlock(clients);\n';

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "migrate-"));
  printed = [];
  vi.spyOn(console, "log").mockImplementation((line) => void printed.push(line));
  vi.spyOn(console, "error").mockImplementation((line) => void printed.push(line));
  for (const path of ["src", "node_modules/a", ".hidden", "dist"]) await mkdir(join(folder, path), { recursive: true });
  await writeFile(join(folder, "package.json"), '{ "dependencies": { "redlock": "^5.0.0-beta.2" } }');
  for (const path of ["src/a.ts", "src/b.d.ts", "node_modules/a/c.ts", ".hidden/d.ts", "dist/e.js"]) {
    await writeFile(join(folder, path), before);
  }
});
afterEach(() => rm(folder, { recursive: true }));

const read = (path: string): Promise<string> => readFile(join(folder, path), "utf8");

test("migrate changes the sources of a folder, and prints what it changed", async () => {
  expect(runMigration(["migrate", folder])).toBe(0);
  expect(await read("src/a.ts")).toBe(before.replace("redlock", "@holdfast/compat/redlock"));
  for (const path of ["src/b.d.ts", "node_modules/a/c.ts", ".hidden/d.ts", "dist/e.js"])
    expect(await read(path)).toBe(before);
  expect(printed).toEqual([
    expect.stringMatching(/src\/a\.ts$/),
    '  - import Redlock from "redlock";',
    '  + import Redlock from "@holdfast/compat/redlock";',
    "1 file changed, 0 places left",
    "npm install @holdfast/compat",
  ]);
});

test("migrate --dry-run changes nothing", async () => {
  expect(runMigration(["migrate", "--dry-run", folder])).toBe(0);
  expect(await read("src/a.ts")).toBe(before);
  expect(printed).toContain("1 file would change, 0 places left");
});

test("migrate --api replaces calls, and prints each changed line once", async () => {
  await writeFile(
    join(folder, "src/a.ts"),
    'import Redlock from "redlock";\nconst redlock = new Redlock(\n  clients,\n);\n',
  );
  expect(runMigration(["migrate", "--api", join(folder, "src/a.ts")])).toBe(0);
  expect(printed.filter((line) => line.startsWith("  - "))).toEqual([
    '  - import Redlock from "redlock";',
    "  - const redlock = new Redlock(",
    "  -   clients,",
    "  - );",
  ]);
});

test("migrate --api prints no line of a call that stays as it is", async () => {
  await writeFile(
    join(folder, "src/a.ts"),
    'import { Mutex } from "redis-semaphore";\nconst m = new Mutex(c, "k", {\n  onLockLost: (error) => {\n    f();\n  },\n});\n' +
      "await m.acquire();\nawait m.release();\n",
  );
  expect(runMigration(["migrate", "--api", join(folder, "src/a.ts")])).toBe(0);
  expect(printed.filter((line) => line.includes("f();"))).toEqual([]);
});

test("migrate exits with 1 if something is left, such as a file that cannot be parsed, and moves the rest", async () => {
  await writeFile(join(folder, "src/broken.ts"), "import from 'redlock' {{\n");
  await writeFile(
    join(folder, "src/semaphore.ts"),
    'import { Semaphore } from "redis-semaphore";\nnew Semaphore(c, "k", 1);\n',
  );
  expect(runMigration(["migrate", folder])).toBe(1);
  expect(printed).toContainEqual(expect.stringMatching(/src\/broken\.ts:1: left: this file cannot be parsed$/));
  expect(printed).toContainEqual(expect.stringMatching(/src\/semaphore\.ts:2: left: permits of redis-semaphore/));
  expect(printed).toContain("2 files changed, 2 places left");
});

test("migrate reads the version of redlock from the nearest package.json that has one", async () => {
  await writeFile(join(folder, "src/package.json"), '{ "devDependencies": { "redlock": "4.2.0" } }');
  expect(runMigration(["migrate", folder])).toBe(0);
  expect(await read("src/a.ts")).toContain('"@holdfast/compat/redlock-4"');
});

test.each([[[]], [["move"]], [["migrate", "--force"]], [["migrate", "/does/not/exist"]]])(
  "%j is refused with exit code 2",
  (args) => {
    expect(runMigration(args)).toBe(2);
    expect(printed).not.toEqual([]);
  },
);
