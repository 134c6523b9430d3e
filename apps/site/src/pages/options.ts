/** Gives each option of the tables of options an address of its own. */
import { slug } from "github-slugger";
import type { MarkdownRenderer } from "vitepress";

/**
 * A plugin of markdown-it: gives an id to each row of a table whose first column is "option": `ttlms` to that of `ttlMs`. A row
 * of several options has the id of the first one. An id that a heading has already stays with the heading.
 */
export function anchorOptions(md: MarkdownRenderer): void {
  md.core.ruler.push("anchor_options", ({ tokens }) => {
    const taken = new Set(tokens.map((token) => token.attrGet("id")));
    let isOptions = false;
    for (const [index, { type }] of tokens.entries()) {
      if (type === "thead_open") isOptions = tokens[index + 3]?.content === "option";
      if (type === "tr_open" && isOptions && tokens[index + 1]?.type === "td_open") {
        const name = tokens[index + 2]?.children?.find((token) => token.type === "code_inline")?.content ?? "";
        const id = slug(name);
        if (id === "" || taken.has(id)) continue;
        taken.add(id);
        tokens[index]?.attrSet("id", id);
      }
    }
  });
}

/**
 * Returns the rows with an id as sections of a page: the index of the search knows only sections. The words of the name are in
 * the text, so that readers find `waitTimeoutMs` by "timeout".
 */
export function optionsAsSections(html: string): string {
  const rows = html.matchAll(/<tr id="([^"]+)">\s*<td[^>]*>(.*?)<\/td>(.*?)<\/tr>/gs);
  return [...rows]
    .map(([, id, name, rest]) => `<h2 id="${id}">${name} <a href="#${id}">#</a></h2><p>${wordsOf(name)} ${rest}</p>`)
    .join("");
}

function wordsOf(name = ""): string {
  return name.replace(/(?=[A-Z])/g, " ");
}
