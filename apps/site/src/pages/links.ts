/** Turns links between files of the repository into links between pages of the site. */
import { existsSync } from "node:fs";
import { dirname, relative, resolve } from "node:path";
import MarkdownIt from "markdown-it";
import type { MarkdownRenderer } from "vitepress";
import { isPage, pageOf, routeOf, sourceRouteOf } from "./routes.ts";

/** The page that VitePress renders. */
interface PageEnvironment {
  /** The page's path, after rewriting. */
  readonly path: string;
  /** The path of its file. */
  readonly realPath?: string;
}

/**
 * A plugin of markdown-it: rewrites the relative links of each page. A link to a Markdown file becomes one to its page, and a
 * link to any other file or folder becomes one to the page that shows it.
 *
 * @throws {Error} while rendering, if a link leads to a file that does not exist
 */
export function linkPages(md: MarkdownRenderer, root: string): void {
  md.core.ruler.push("link_pages", (state) => {
    const { path, realPath = path } = state.env as PageEnvironment;
    for (const { children } of state.tokens) {
      for (const token of children ?? []) {
        const href = token.type === "link_open" ? token.attrGet("href") : null;
        if (href !== null && isRelative(href)) token.attrSet("href", targetOf(href, realPath, root));
      }
    }
  });
}

function isRelative(href: string): boolean {
  return !/^([a-z][a-z+.-]*:|\/|#)/.test(href);
}

function targetOf(href: string, from: string, root: string): string {
  const file = fileOf(href, from, root);
  if (file === undefined) throw new Error(`${relative(root, from)} links to ${href}, which is not in the repository`);
  const route = isPage(file) ? routeOf(pageOf(file)) : sourceRouteOf(file);
  return `${route}${/#.*$/.exec(href) ?? ""}`;
}

/** Returns the file or folder that a relative link leads to; undefined if it is not in the repository. */
function fileOf(href: string, from: string, root: string): string | undefined {
  const target = resolve(dirname(from), decodeURI(href.replace(/#.*$/, "")));
  const file = relative(root, target);
  return file.startsWith("..") || !existsSync(target) ? undefined : file;
}

/** Returns the files and folders of the repository that a page links to, except files that do not exist. */
export function linkedFiles(text: string, from: string, root: string): string[] {
  return new MarkdownIt().parse(text, {}).flatMap(({ children }) =>
    (children ?? []).flatMap((token) => {
      const href = token.type === "link_open" ? token.attrGet("href") : null;
      const file = href !== null && isRelative(href) ? fileOf(href, from, root) : undefined;
      return file ?? [];
    }),
  );
}
