import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
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

test.concurrent.each<[what: string, file: string, lastLine: string]>([
  ["passed tests", passing, "4 passed, 0 failed"],
  ["a failed test", `${passing} test("c", () => { throw new Error("no"); });`, "4 passed, 1 failed"],
  ["a skipped and a planned test", `${passing} test.skip("c", () => {}); test.todo("d");`, "4 passed, 2 failed"],
  [
    "the tests behind a hook that fails",
    `beforeAll(() => { throw new Error("no"); }); ${passing}`,
    "2 passed, 2 failed",
  ],
  ["a file that does not load", `${passing} import "./none.js";`, "2 passed, 1 failed"],
  ["a file without tests", "", "2 passed, 1 failed"],
  ["a rejection that nothing handles", `${passing} Promise.reject(new Error("no"));`, "4 passed, 1 failed"],
  ["a worker that crashes", 'test("a", () => process.kill(process.pid, "SIGKILL"));', "2 passed, 2 failed"],
])("CountReporter counts %s", async (_, file, lastLine) => {
  expect(await outcomeOf({ passing, file })).toEqual([lastLine, lastLine.endsWith(" 0 failed") ? 0 : 1]);
});
