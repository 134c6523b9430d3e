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

/** Follows a page whose commands print `output`, and tells what they were and what `a.ts` was when they were run. */
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
  it("writes files and runs commands, in order, a later version of a file over an earlier one", async () => {
    const page =
      block("sh", "ls") + file + block("sh", "ls") + block("ts", "// src/a.ts", "new();") + block("sh", "ls");
    expect(await follow(page)).toEqual([
      "ls: no file",
      "ls: // src/a.ts\none();\ntwo();\n",
      "ls: // src/a.ts\nnew();\n",
    ]);
  });

  it("takes a change back after the next command", async () => {
    expect(await follow(file + change + block("sh", "test") + block("sh", "test"))).toEqual([
      "test: // src/a.ts\none();\nthree();\nfour();\n",
      "test: // src/a.ts\none();\ntwo();\n",
    ]);
  });

  it("refuses a change of lines that are not there, or not just once", async () => {
    await expect(follow(block("ts", "// src/a.ts", "one();") + change)).rejects.toThrow("0 times");
    await expect(follow(block("ts", "// src/a.ts", "one();", "two();", "one();", "two();") + change)).rejects.toThrow(
      "2 times",
    );
  });

  it("fails where a command fails, or does not fail, against what the guide says", async () => {
    const [good, bad] = [
      { output: "fine", failed: false },
      { output: "oh", failed: true },
    ];
    await expect(follow(block("sh", "x"), bad)).rejects.toThrow("README.md:1: failed:\noh");
    await expect(follow(block("sh fails", "x"), good)).rejects.toThrow("README.md:1: did not fail:\nfine");
    await follow(block("sh fails", "x"), bad);
  });

  it("fails where a line is not among what the last commands printed", async () => {
    const outcome = { output: "  150 ms\n", failed: false };
    await follow(block("sh", "x") + block("text", "150"), outcome);
    await expect(follow(block("sh", "x") + block("text", "150", "151"), outcome)).rejects.toThrow("not seen: 151");
  });
});

describe("guideSteps()", () => {
  it.each([
    ["ts", "file without a path"],
    ["diff", "+change without a path"],
    ["sh maybe", "ls"],
    ["js", "// src/a.js"],
  ])("refuses a %s block with %s, which nobody would follow", async (info, text) => {
    await expect(follow(block(info, text))).rejects.toThrow("README.md:1: a guide has no use for this block");
  });
});
