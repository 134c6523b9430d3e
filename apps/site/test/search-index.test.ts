import { expect, test } from "vitest";
import { renderForSearch } from "../src/pages/search.ts";

/** Returns what the search learns of a section with this anchor. */
function indexed(relativePath: string, anchor: string): string {
  const html = `<h2 id="${anchor}">Title</h2><p>Text.</p>`;
  const renderer = { options: {}, set: () => {}, render: () => html };
  return renderForSearch("", { relativePath } as Parameters<typeof renderForSearch>[1], renderer);
}

test("renderForSearch() leaves out types of client libraries in the reference, and no other section", () => {
  expect(indexed("reference/ioredis/index.md", "ioredisclient")).toBe("");
  expect(indexed("reference/ioredis/index.md", "ioredisnode")).toContain("Text.");
  expect(indexed("fenced-storage/index.md", "sqlite")).toContain("Text.");
  expect(indexed("postgres/index.md", "pgbouncer")).toContain("Text.");
});
