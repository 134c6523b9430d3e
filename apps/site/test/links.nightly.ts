import { existsSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { type BuiltPage, builtPages, builtSite, dist } from "./support/site.ts";

let pages: BuiltPage[];

beforeAll(async () => {
  await builtSite();
  pages = await builtPages();
});

test("links within the site lead to pages, files and headings that exist", () => {
  const idsOf = new Map(pages.map(({ route, html }) => [route, new Set(attributes(html, "id"))]));
  const broken = pages.flatMap((page) => linksOf(page).filter(({ target }) => !leadsSomewhere(target, idsOf)));
  expect(broken.map(({ from, link }) => `${from} links to ${link}`)).toEqual([]);
});

interface Link {
  readonly from: string;
  readonly link: string;
  readonly target: URL;
}

/** Returns the links of a page to the site itself, and the files that the page loads. */
function linksOf({ route, html }: BuiltPage): Link[] {
  const site = "http://the.site";
  const links = new Set([...attributes(html, "href"), ...attributes(html, "src")]);
  return [...links]
    .map((link) => ({ from: route, link, target: new URL(link, `${site}${route}`) }))
    .filter(({ target }) => target.origin === site);
}

/** Returns the values of an attribute. What VitePress renders has no other quotes, and escapes them in texts. */
function attributes(html: string, name: string): string[] {
  const values = html.matchAll(new RegExp(`<[a-z][^>]*?\\s${name}="([^"]*)"`, "g"));
  return [...values].map(([, value = ""]) => value.replaceAll("&amp;", "&"));
}

function leadsSomewhere({ pathname, hash }: URL, idsOf: ReadonlyMap<string, ReadonlySet<string>>): boolean {
  const path = decodeURI(pathname);
  const ids = idsOf.get(path);
  if (ids === undefined) return !path.endsWith("/") && existsSync(join(dist, path));
  return hash === "" || ids.has(decodeURIComponent(hash.slice(1)));
}
