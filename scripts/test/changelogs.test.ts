import { describe, expect, it } from "vitest";
import { filled } from "../lib/changelogs.ts";

const sentence = "No changes of its own: all packages are released together, in one version.";

describe("filled()", () => {
  it("adds a sentence under each bare heading", () => {
    const changelog = "# core\n\n## 0.1.2\n\n## 0.1.1\n\n### Patch Changes\n\n- A fix.\n\n## 0.1.0\n";
    expect(filled(changelog)).toBe(
      `# core\n\n## 0.1.2\n\n${sentence}\n\n## 0.1.1\n\n### Patch Changes\n\n- A fix.\n\n## 0.1.0\n\n${sentence}\n`,
    );
  });

  it("does not change a changelog without bare headings, such as one that it has filled", () => {
    const changelog = `# core\n\n## 0.1.1\n\n${sentence}\n\n## 0.1.0\n\n### Minor Changes\n\n- All.\n`;
    expect(filled(changelog)).toBe(changelog);
  });
});
