import { expect, onTestFinished, test, vi } from "vitest";
import { sourcePages } from "../src/pages/source-pages.ts";

test("sourcePages() shows linked files and folders in a copy without Git, too", () => {
  vi.stubEnv("PATH", "");
  // The next file in this process may run Git before its first test.
  onTestFinished(() => void vi.unstubAllEnvs());
  const shown = sourcePages().map(({ params }) => params.file);
  expect(shown).toEqual(expect.arrayContaining(["docs/compose-yaml", "docs/decisions"]));
});
