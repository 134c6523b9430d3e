import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { isNightly } from "@holdfast/testkit";
import { exec } from "tinyexec";
import { expect, test } from "vitest";
import { withTemporaryFolder } from "../lib/temporary-folder.ts";
import { root, scripts } from "../lib/workspace.ts";

/** Runs test files with the reporter, and returns the last line of the output and the exit code. */
function outcomeOf(
  files: Readonly<Record<string, string>>,
): Promise<[lastLine: string | undefined, exitCode: number | undefined]> {
  return withTemporaryFolder(async (folder) => {
    await mkdir(join(folder, "test"));
    const config = `import { CountReporter } from "${join(scripts, "lib/count-reporter.ts")}";
      export default { test: { globals: true, reporters: ["default", new CountReporter()] } };`;
    await writeFile(join(folder, "vitest.config.ts"), config);
    for (const [name, text] of Object.entries(files)) await writeFile(join(folder, `test/${name}.test.js`), text);
    const { stdout, exitCode } = await exec("vitest", ["run", "--root", folder], { nodeOptions: { cwd: root } });
    return [stdout.trimEnd().split("\n").at(-1), exitCode];
  });
}

const passing = 'test("a", () => {}); test("b", () => {});';

const outcomes: readonly [what: string, files: Readonly<Record<string, string>>, lastLine: string][] = [
  [
    "failed, skipped and planned tests, those behind a hook that fails, and files that do not load or have none",
    {
      failed: `${passing} test("c", () => { throw new Error("no"); });`,
      skipped: `${passing} test.skip("c", () => {}); test.todo("d");`,
      "behind-hook": `beforeAll(() => { throw new Error("no"); }); ${passing}`,
      "not-loaded": `${passing} import "./none.js";`,
      empty: "",
    },
    "4 passed, 7 failed",
  ],
  ["passed tests", { passing, others: passing }, "4 passed, 0 failed"],
  ["a file without tests", { passing, empty: "" }, "2 passed, 1 failed"],
  [
    "a rejection that nothing handles",
    { passing, rejecting: `${passing} Promise.reject(new Error("no"));` },
    "4 passed, 1 failed",
  ],
  [
    "a worker that crashes",
    { passing, crashing: 'test("a", () => process.kill(process.pid, "SIGKILL"));' },
    "2 passed, 2 failed",
  ],
];

/** Each takes a run of vitest. The first has most kinds of tests. */
const selected = outcomes.slice(0, isNightly ? undefined : 1);

test.concurrent.each(selected)("CountReporter counts %s", async (_, files, lastLine) => {
  expect(await outcomeOf(files)).toEqual([lastLine, lastLine.endsWith(" 0 failed") ? 0 : 1]);
});
