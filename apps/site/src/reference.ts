/** The API reference on the site: its navigation, and links from the pages that name its symbols. */
import type { DefaultTheme, MarkdownRenderer } from "vitepress";
import { pageOf, routeOf } from "./pages/routes.ts";
import { type ReferenceModule, type ReferenceSymbol, referenceFolder } from "./reference-symbols.ts";

/** Returns the list of all modules. The outline of a module's page lists its symbols. */
export function referenceSidebar(modules: readonly ReferenceModule[]): DefaultTheme.SidebarItem[] {
  return [
    { text: "API reference", link: "/reference/" },
    ...modules.map(({ name, page }) => ({ text: folderOf(name), link: routeTo(page) })),
  ];
}

/** Returns a module's name without the scope, as in the paths of its pages. */
function folderOf(module: string): string {
  return module.replace(/^@[^/]+\//, "");
}

function packageOf(module: string): string {
  return module.split("/", 2).join("/");
}

function isCalled({ kind }: ReferenceSymbol): boolean {
  return kind === "function" || kind === "class";
}

function routeTo(page: string, anchor?: string): string {
  const route = routeOf(pageOf(`${referenceFolder}/${page}`));
  return anchor === undefined ? route : `${route}#${anchor}`;
}

/**
 * A plugin of markdown-it: links code that names a symbol to its section, where a page, or a section of the reference,
 * mentions it first. Code in headings and in links stays as it is, and so do names that several packages export, except
 * on pages of one of them.
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
    let linked = new Set([routeOf(page)]);
    const routeOfMention = (code: string): string | undefined => {
      const route = routeOfCode(code, page, modules);
      if (route === undefined || linked.has(route)) return undefined;
      linked.add(route);
      return route;
    };
    for (const [index, inline] of tokens.entries()) {
      const section = inline.tag === "h2" && page.startsWith("reference/") ? inline.attrGet("id") : null;
      if (section !== null) linked = new Set([`${routeOf(page)}#${section}`]);
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
  return routeTo(symbol.page, member === undefined ? symbol.anchor : symbol.members[member]);
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
  const here = page.replace(/^reference\//, "");
  return found.find((symbol) => symbol.page === here);
}
