import { fileURLToPath } from "node:url";
import { readmeExamples, runExample } from "@holdfast/testkit";
import { expect, it } from "vitest";

const packageDirectory = fileURLToPath(new URL("..", import.meta.url));

for (const { code, line } of await readmeExamples(`${packageDirectory}README.md`)) {
  it(`the README's example at line ${line} runs`, async () => {
    expect(await runExample(code, packageDirectory)).toMatch(/fence \d+/);
  }, 60_000);
}
