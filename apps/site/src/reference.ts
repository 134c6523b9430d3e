/** The API reference on the site: its navigation, and links from the pages that name its symbols. */
import type { DefaultTheme, MarkdownRenderer } from "vitepress";
import { pageOf, routeOf } from "./pages/routes.ts";
import { type ReferenceModule, type ReferenceSymbol, referenceFolder } from "./reference-symbols.ts";

/** Returns the navigation of the reference: its modules, and the symbols of each. */
export function referenceSidebar(modules: readonly ReferenceModule[]): DefaultTheme.SidebarItem[] {
  const overview = { text: "API reference", link: "/reference/" };
  return [
    overview,
    ...modules.map(({ name, page, symbols }) => ({
      text: name.replace("@holdfast/", ""),
      link: routeTo(page),
      collapsed: true,
      items: symbols
        .filter((symbol) => symbol.page.startsWith(page.replace("index.md", "")))
        .map(({ name, kind, page }) => ({ text: kind === "function" ? `${name}()` : name, link: routeTo(page) })),
    })),
  ];
}

function routeTo(page: string): string {
  return routeOf(pageOf(`${referenceFolder}/${page}`));
}

/**
 * A plugin of markdown-it: links code that names a symbol to its page, where a page mentions it first. Code in headings
 * and in links stays as it is, and so do names that several packages export, except on pages of one of them.
 *
 * - `Redlock`, `new Redlock(nodes)`: any symbol that is a class, a type or in camel case
 * - `heal()`, `semaphore(redlock, name, 3)`: a function
 * - `lock.fence`, `redlock.using()`: a member of `Lock` and of `Redlock`
 * - `@holdfast/core/election`: a module
 */
export function linkSymbols(md: MarkdownRenderer, modules: readonly ReferenceModule[]): void {
  md.core.ruler.push("link_symbols", (state) => {
    const page = (state.env as { readonly relativePath?: string }).relativePath ?? "";
    if (namesOtherLibraries.test(page)) return;
    const linked = new Set([routeOf(page)]);
    for (const [index, inline] of state.tokens.entries()) {
      if (inline.type !== "inline" || state.tokens[index - 1]?.type === "heading_open") continue;
      let depth = 0;
      inline.children = (inline.children ?? []).flatMap((token) => {
        depth += token.nesting * Number(token.type.startsWith("link_"));
        const route =
          token.type === "code_inline" && depth === 0 ? routeOfCode(token.content, page, modules) : undefined;
        if (route === undefined || linked.has(route)) return [token];
        linked.add(route);
        const open = new state.Token("link_open", "a", 1);
        open.attrSet("href", route);
        return [open, token, new state.Token("link_close", "a", -1)];
      });
    }
  });
}

/** Pages on which `Redlock` is a class of another library. */
const namesOtherLibraries = /^migrating\//;

function routeOfCode(code: string, page: string, modules: readonly ReferenceModule[]): string | undefined {
  const module = modules.find(({ name }) => name === code);
  if (module !== undefined) return routeTo(module.page);
  const {
    name = "",
    member,
    call,
  } = /^(?:new )?(?<name>\w+)(?:\.(?<member>\w+))?(?<call>\(.*\))?$/.exec(code)?.groups ?? {};
  // `lock.fence` is a member of `Lock`, as programs name their variables.
  const owner = member === undefined ? name : name.replace(/^./, (letter) => letter.toUpperCase());
  const symbol = symbolNamed(owner, page, modules, (one) =>
    member === undefined ? isNamedBy(one, call) : one.members[member] !== undefined,
  );
  if (symbol === undefined) return undefined;
  const anchor = member === undefined ? "" : `#${symbol.members[member]}`;
  return `${routeTo(symbol.page)}${anchor}`;
}

/** A word such as `check` may mean anything, unless it is called. */
function isNamedBy({ name, kind }: ReferenceSymbol, call: string | undefined): boolean {
  return call === undefined ? /[A-Z]/.test(name) : kind === "function" || kind === "class";
}

function symbolNamed(
  name: string,
  page: string,
  modules: readonly ReferenceModule[],
  fits: (symbol: ReferenceSymbol) => boolean,
): ReferenceSymbol | undefined {
  const found = modules.flatMap(({ symbols }) => symbols.filter((symbol) => symbol.name === name && fits(symbol)));
  if (new Set(found.map(({ page }) => page)).size <= 1) return found[0];
  const here = page.replace(/^reference\//, "").replace(/[^/]*$/, "");
  return found.find((symbol) => symbol.page.replace(/[^/]*$/, "") === here);
}
