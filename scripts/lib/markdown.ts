import { fromMarkdown } from "mdast-util-from-markdown";
import { visit } from "unist-util-visit";

/** A link of a Markdown page: its target, and its position in the page. */
export interface Link {
  readonly url: string;
  readonly start: number;
  readonly end: number;
}

/** Returns the links, link definitions and images of a page, in order. */
export function linksOf(page: string): Link[] {
  const links: Link[] = [];
  visit(fromMarkdown(page), (node) => {
    if (node.type !== "link" && node.type !== "image" && node.type !== "definition") return;
    const [start, end] = [node.position?.start.offset, node.position?.end.offset];
    if (start !== undefined && end !== undefined) links.push({ url: node.url, start, end });
  });
  return links;
}

/** Returns the page with each URL replaced by what `replacement` returns for it. */
export function replaceLinks(page: string, replacement: (url: string) => string): string {
  return linksOf(page).reduceRight((text, { url, start, end }) => {
    const link = text.slice(start, end);
    const at = start + link.lastIndexOf(url);
    return text.slice(0, at) + replacement(url) + text.slice(at + url.length);
  }, page);
}

/** Returns the page with its tables replaced by these, in order. Its text is written by hand. */
export function replaceTables(page: string, tables: readonly string[]): string {
  let count = 0;
  const replaced = page.replaceAll(/^\|.*\n(?:\|.*\n)+/gm, () => tables[count++] ?? "");
  if (count !== tables.length) throw new Error(`the page has ${count} tables instead of ${tables.length}`);
  return replaced;
}

/** Returns a table, each row on a line. */
export function markdownTable(columns: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  return [columns, columns.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |\n`).join("");
}
