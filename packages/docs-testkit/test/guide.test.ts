import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { followGuide, guideSteps, type Outcome } from "../src/index.ts";

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "holdfast-guide-"));
  return () => rm(folder, { recursive: true });
});

/** Follows a page whose commands have this outcome, and returns each command with the content of `a.ts` at that time. */
async function follow(page: string, outcome: Outcome = { output: "", failed: false }): Promise<string[]> {
  const path = join(folder, "README.md");
  await writeFile(path, page);
  const seen: string[] = [];
  await followGuide(await guideSteps(path), folder, async (command) => {
    seen.push(`${command}: ${await readFile(join(folder, "src/a.ts"), "utf8").catch(() => "no file")}`);
    return outcome;
  });
  return seen;
}

const block = (info: string, ...lines: string[]): string => [`\`\`\`${info}`, ...lines, "```", ""].join("\n");
const file = block("ts", "// src/a.ts", "one();", "two();");
const change = block("diff", "--- src/a.ts", " one();", "-two();", "+three();", "+four();");

describe("followGuide()", () => {
  it("writes files and runs commands in order, and replaces earlier versions of a file", async () => {
    const page =
      block("sh", "ls") + file + block("sh", "ls") + block("ts", "// src/a.ts", "new();") + block("sh", "ls");
    expect(await follow(page)).toEqual([
      "ls: no file",
      "ls: // src/a.ts\none();\ntwo();\n",
      "ls: // src/a.ts\nnew();\n",
    ]);
  });

  it("reverts a change after the next command", async () => {
    expect(await follow(file + change + block("sh", "test") + block("sh", "test"))).toEqual([
      "test: // src/a.ts\none();\nthree();\nfour();\n",
      "test: // src/a.ts\none();\ntwo();\n",
    ]);
  });

  it("throws for a change of lines that the file does not contain exactly once", async () => {
    await expect(follow(block("ts", "// src/a.ts", "one();") + change)).rejects.toThrow("0 times");
    await expect(follow(block("ts", "// src/a.ts", "one();", "two();", "one();", "two();") + change)).rejects.toThrow(
      "2 times",
    );
  });

  it("throws when a command fails or succeeds unlike in the guide", async () => {
    const [good, bad] = [
      { output: "fine", failed: false },
      { output: "oh", failed: true },
    ];
    await expect(follow(block("sh", "x"), bad)).rejects.toThrow("README.md:1: failed:\noh");
    await expect(follow(block("sh fails", "x"), good)).rejects.toThrow("README.md:1: did not fail:\nfine");
    await follow(block("sh fails", "x"), bad);
  });

  it("throws when the output of the last commands lacks a line", async () => {
    const outcome = { output: "  150 ms\n", failed: false };
    await follow(block("sh", "x") + block("text", "150"), outcome);
    await expect(follow(block("sh", "x") + block("text", "150", "151"), outcome)).rejects.toThrow(
      "missing in the output: 151",
    );
  });
});

describe("guideSteps()", () => {
  it.each([
    ["ts", "file without a path"],
    ["diff", "+change without a path"],
    ["sh maybe", "ls"],
    ["js", "// src/a.js"],
  ])("throws for a %s block with %s, which is no step", async (info, text) => {
    await expect(follow(block(info, text))).rejects.toThrow("README.md:1: a guide has no such block");
  });
});
