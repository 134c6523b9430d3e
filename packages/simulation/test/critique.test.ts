import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { critiqueScenarios, formatRun, simulate } from "../src/index.ts";

const page = fileURLToPath(new URL("../../../docs/generated/critique.md", import.meta.url));

describe("critiqueScenarios", () => {
  it("critiqueScenarios match the runs shown in docs/generated/critique.md", async () => {
    const runs: string[] = [];
    for (const scenario of Object.values(critiqueScenarios)) {
      runs.push(formatRun(await simulate(scenario, { timeline: true })));
    }
    const shown = await readFile(page, "utf8");
    const blocks = shown.match(/^```\n.*?\n```$/gms) ?? [];
    expect(blocks).toHaveLength(runs.length);
    const replaced = blocks.reduce(
      (text, block, index) => text.replace(block, () => `\`\`\`\n${runs[index]}\n\`\`\``),
      shown,
    );
    await expect(replaced).toMatchFileSnapshot(page);
  });
});
