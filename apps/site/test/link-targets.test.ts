import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { slug } from "github-slugger";
import MarkdownIt from "markdown-it";
import type { MarkdownRenderer } from "vitepress";
import { expect, test } from "vitest";
import { linkPages } from "../src/pages/links.ts";
import { anchorOptions } from "../src/pages/options.ts";
import { isPage, pageOf, routeOf } from "../src/pages/routes.ts";

const root = resolve(import.meta.dirname, "../../..");

/** A page without its layout. */
interface Page {
  readonly ids: ReadonlySet<string>;
  readonly links: readonly string[];
}

const md = new MarkdownIt() as unknown as MarkdownRenderer;
linkPages(md, root);
anchorOptions(md);

function pageAt(realPath: string): Page {
  const env = { path: realPath, realPath };
  const tokens = md.parse(readFileSync(realPath, "utf8"), env);
  const titles = tokens.filter((_, index) => tokens[index - 1]?.type === "heading_open");
  const texts = titles.map(({ children }) => (children ?? []).map(({ content }) => content).join(""));
  const optionIds = [...md.renderer.render(tokens, md.options, env).matchAll(/ id="([^"]*)"/g)].map(
    ([, id = ""]) => id,
  );
  const links = tokens.flatMap(({ children }) => (children ?? []).flatMap((token) => token.attrGet("href") ?? []));
  return { ids: new Set([...texts.map((text) => slug(text)), ...optionIds]), links };
}

// Nightly, the same is tested with the pages as they are built.
test("links between pages lead to files and headings that exist", () => {
  const files = execFileSync("git", ["ls-files", "*.md"], { cwd: root, encoding: "utf8" }).split("\n").filter(isPage);
  const pages = new Map(files.map((file) => [routeOf(pageOf(file)), pageAt(resolve(root, file))]));
  const broken = [...pages].flatMap(([from, { links }]) =>
    links
      .filter((link) => link.includes("#") && !/^[a-z]+:/.test(link))
      .filter((link) => {
        const [route = "", id = ""] = link.split("#");
        const target = pages.get(route || from);
        return target !== undefined && !target.ids.has(decodeURIComponent(id));
      })
      .map((link) => `${from} links to ${link}`),
  );
  expect(pages.size).toBeGreaterThan(50);
  expect(broken).toEqual([]);
});
