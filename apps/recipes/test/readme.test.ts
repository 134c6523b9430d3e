import { readdir, readFile } from "node:fs/promises";
import { expect, test } from "vitest";

test("README.md links to each source file, and to no other", async () => {
  const page = await readFile(new URL("../README.md", import.meta.url), "utf8");
  const linked = [...page.matchAll(/\]\(\.\/src\/([^)]+)\)/g)].map(([, file]) => file);
  const files = await readdir(new URL("../src", import.meta.url));
  expect([...new Set(linked)].sort()).toEqual(files.sort());
});
