/** Gives each option of the tables of options an address of its own. */
import { slug } from "github-slugger";
import type { MarkdownRenderer } from "vitepress";

/**
 * A plugin of markdown-it: gives an id to each name in the first column of a table, if this column is called "option":
 * `ttlms` to `ttlMs`. An id that a heading or an earlier option has already stays there.
 */
export function anchorOptions(md: MarkdownRenderer): void {
  md.core.ruler.push("anchor_options", ({ tokens }) => {
    const taken = new Set(tokens.map((token) => token.attrGet("id")));
    let isOptions = false;
    for (const [index, { type }] of tokens.entries()) {
      if (type === "thead_open") isOptions = tokens[index + 3]?.content === "option";
      if (type !== "tr_open" || !isOptions || tokens[index + 1]?.type !== "td_open") continue;
      for (const token of tokens[index + 2]?.children ?? []) {
        const id = slug(token.content);
        if (token.type !== "code_inline" || taken.has(id)) continue;
        taken.add(id);
        token.attrSet("id", id);
      }
    }
  });
}

/**
 * Returns the options with an id as sections of a page: the index of the search knows only sections. The words of the name are
 * in the text, so that readers find `waitTimeoutMs` by "timeout".
 */
export function optionsAsSections(html: string): string {
  const rows = [...html.matchAll(/<tr>\s*<td[^>]*>(.*?)<\/td>(.*?)<\/tr>/gs)];
  return rows.flatMap(([, names = "", rest]) => namesIn(names).map(([id, name]) => section(id, name, rest))).join("");
}

function namesIn(cell: string): [id: string, name: string][] {
  return [...cell.matchAll(/<code[^>]* id="([^"]+)"[^>]*>(.*?)<\/code>/g)].map(([, id = "", name = ""]) => [id, name]);
}

function section(id: string, name: string, text = ""): string {
  const words = name.replace(/(?=[A-Z])/g, " ");
  return `<h2 id="${id}">${name} <a href="#${id}">#</a></h2><p>${words} ${text}</p>`;
}
