import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { readmeExamples, runExample } from "@holdfast/testkit";
import { expect, it } from "vitest";

const packageDirectory = fileURLToPath(new URL("..", import.meta.url));
const page = await readFile(`${packageDirectory}README.md`, "utf8");
const [, timeline = "none"] = /```text\n([\s\S]+?)```/.exec(page) ?? [];
const expected = [
  /^20 runs, \d+ locks, 0 complaints$/m,
  timeline,
  /VIOLATED +mutual exclusion[\s\S]+\[ 'the storage that checks nothing has lost an update' \]/,
];

for (const [index, { code, line }] of (await readmeExamples(`${packageDirectory}README.md`)).entries()) {
  it(`the README's example at line ${line} runs, and prints what it says`, async () => {
    expect(await runExample(code, packageDirectory, 100_000)).toMatch(expected[index] ?? "no such example");
  });
}
