import MarkdownIt from "markdown-it";
import type { MarkdownRenderer } from "vitepress";
import { expect, test } from "vitest";
import { anchorOptions } from "../src/pages/options.ts";
import { renderForSearch } from "../src/pages/search.ts";

type Environment = Parameters<typeof renderForSearch>[1];

test("renderForSearch() adds a section for each option of a table", () => {
  const md = new MarkdownIt() as unknown as MarkdownRenderer;
  anchorOptions(md);
  const table = (first: string) => `| ${first} | meaning |\n| --- | --- |\n| \`ttlMs\`, \`other\` | how long |\n`;
  const page = `${table("option")}\n\n${table("option")}\n\n${table("method").replace("ttlMs", "close")}`;
  expect(md.render(page).match(/ id="[^"]*"/g)).toEqual([' id="ttlms"', ' id="other"']);
  const html = renderForSearch(page, { relativePath: "packages/core/README.md" } as Environment, md);
  expect(html).toMatch(/<h2 id="ttlms">ttlMs <a href="#ttlms">.*ttl Ms.*how long/s);
});
