import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readmeExamples, runExample } from "../src/index.ts";

const here = fileURLToPath(new URL("..", import.meta.url));
let directory: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "holdfast-readme-"));
});
afterAll(() => rm(directory, { recursive: true }));

async function page(...lines: string[]): Promise<string> {
  const path = join(directory, "README.md");
  await writeFile(path, lines.join("\n"));
  return path;
}

describe("readmeExamples()", () => {
  it("returns the ts blocks with their line and heading, including blocks in lists", async () => {
    const path = await page("```ts", "one();", "```", "# A `title`", "- item", "  ```ts", "  two();", "  ```");
    expect(await readmeExamples(path)).toEqual([
      { code: "one();", line: 1, heading: "" },
      { code: "two();", line: 6, heading: "A title" },
    ]);
  });

  it("returns blocks in tabs", async () => {
    expect(await readmeExamples(await page("```ts [a tab]", "one();", "```"))).toMatchObject([{ code: "one();" }]);
  });

  it("ignores other languages", async () => {
    expect(await readmeExamples(await page("```sh", "ls", "```", "```", "plain", "```"))).toEqual([]);
  });

  it("omits a block only for a reason", async () => {
    expect(await readmeExamples(await page("```ts no-run: needs a Cluster", "x", "```"))).toEqual([]);
    await expect(readmeExamples(await page("```ts no-run", "x", "```"))).rejects.toThrow('README.md:1: "ts no-run"');
    await expect(readmeExamples(await page("```ts no-run:", "x", "```"))).rejects.toThrow("no-run: <reason>");
  });

  it("throws for code that would not be run", async () => {
    await expect(readmeExamples(await page("", "```js", "x", "```"))).rejects.toThrow("README.md:2: write this block");
  });
});

describe("runExample()", () => {
  it("resolves with the output of the program, and leaves no file behind", { timeout: 40_000 }, async () => {
    const code = `import { freePort } from "@holdfast/testkit";
      const name: string = await Promise.resolve(typeof freePort);
      console.log(name);`;
    expect(await runExample(code, here)).toBe("function\n");
    expect((await readdir(join(here, "reports"))).filter((name) => name.includes("example-"))).toEqual([]);
  });

  it("rejects with the output when the program fails", { timeout: 40_000 }, async () => {
    await expect(runExample('throw new Error("rotten")', here)).rejects.toThrow(/failed:.*rotten/s);
  });

  it("rejects a program that imports what its package does not declare", async () => {
    await expect(runExample('import "pg"', here)).rejects.toThrow('Could not resolve "pg"');
  });

  it("rejects when the program does not end in time", async () => {
    const code = 'console.log("so far"); setInterval(() => {}, 1000);';
    await expect(runExample(code, here, 8_000)).rejects.toThrow("did not end within 8000 ms:\nso far");
  }, 40_000);

  it("starts a server for each port from 7001 to 7009, and substitutes its port", { timeout: 60_000 }, async () => {
    const code = `import { connect } from "node:net";
      for (const port of [7001, 7002, 7001]) connect(port, "127.0.0.1", function () { this.destroy(); });
      console.log(7001 === 7002);`;
    expect(await runExample(code, here)).toBe("false\n");
  });
});
