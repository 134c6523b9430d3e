/** The API reference on the site: its navigation, and links from the pages that name its symbols. */
import type { DefaultTheme, MarkdownRenderer } from "vitepress";
import { pageOf, routeOf } from "./pages/routes.ts";
import { type ReferenceModule, type ReferenceSymbol, referenceFolder } from "./reference-symbols.ts";

/** Returns the navigation of each module: the modules of its package, and its own symbols. */
export function referenceSidebar(modules: readonly ReferenceModule[]): DefaultTheme.SidebarMulti {
  const listOf = (those: readonly ReferenceModule[], shown?: ReferenceModule): DefaultTheme.SidebarItem[] => [
    { text: "API reference", link: "/reference/" },
    ...those.map((module) => ({
      text: folderOf(module.name),
      link: routeTo(module.page),
      ...(module === shown && { items: symbolsOf(module) }),
    })),
  ];
  const lists = modules.map((module) => {
    const siblings = modules.filter(({ name }) => packageOf(name) === packageOf(module.name));
    return [routeTo(module.page), listOf(siblings, module)];
  });
  return { "/reference/": listOf(modules), ...Object.fromEntries(lists) };
}

/** Returns a module's name without the scope, as in the paths of its pages. */
function folderOf(module: string): string {
  return module.replace(/^@[^/]+\//, "");
}

function packageOf(module: string): string {
  return module.split("/", 2).join("/");
}

/** Returns links to the symbols whose pages are in the folder of this module: what programs call, then types. */
function symbolsOf({ page, symbols }: ReferenceModule): DefaultTheme.SidebarItem[] {
  const own = symbols.filter((symbol) => symbol.page.startsWith(page.replace("index.md", "")));
  const [called, types] = [own.filter(isCalled), own.filter((symbol) => !isCalled(symbol))];
  return [...called, ...types].map(({ name, kind, page }) => ({
    text: kind === "function" ? `${name}()` : name,
    link: routeTo(page),
  }));
}

function isCalled({ kind }: ReferenceSymbol): boolean {
  return kind === "function" || kind === "class";
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
 *
 * The page of a package gets a line that links to the reference of its modules.
 */
export function linkSymbols(md: MarkdownRenderer, modules: readonly ReferenceModule[]): void {
  md.core.ruler.push("link_symbols", ({ env, tokens, Token }) => {
    const { relativePath: page = "" } = env as { readonly relativePath?: string };
    if (namesOtherLibraries.test(page)) return;
    const names = modules.map(({ name }) => name).filter((name) => page === `${folderOf(packageOf(name))}/index.md`);
    if (names.length > 0) {
      const list = names.map((name) => `\`${name}\``).join(", ");
      const afterFirst = tokens.findIndex(({ type, level }) => type === "paragraph_close" && level === 0) + 1;
      tokens.splice(afterFirst, 0, ...md.parse(`API reference: ${list}`, {}));
    }
    const linked = new Set([routeOf(page)]);
    const routeOfMention = (code: string): string | undefined => {
      const route = routeOfCode(code, page, modules);
      if (route === undefined || linked.has(route)) return undefined;
      linked.add(route);
      return route;
    };
    for (const [index, inline] of tokens.entries()) {
      if (inline.type !== "inline" || tokens[index - 1]?.type === "heading_open") continue;
      let depth = 0;
      inline.children = (inline.children ?? []).flatMap((token) => {
        depth += token.type.startsWith("link_") ? token.nesting : 0;
        const route = token.type === "code_inline" && depth === 0 ? routeOfMention(token.content) : undefined;
        if (route === undefined) return [token];
        const open = new Token("link_open", "a", 1);
        open.attrSet("href", route);
        return [open, token, new Token("link_close", "a", -1)];
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
    member === undefined ? isNamedBy(one, call) : Object.hasOwn(one.members, member),
  );
  if (symbol === undefined) return undefined;
  const anchor = member === undefined ? "" : `#${symbol.members[member]}`;
  return `${routeTo(symbol.page)}${anchor}`;
}

/** A word such as `check` may mean anything, unless it is called. */
function isNamedBy(symbol: ReferenceSymbol, call: string | undefined): boolean {
  return call === undefined ? /[A-Z]/.test(symbol.name) : isCalled(symbol);
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
