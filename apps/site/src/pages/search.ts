/** What the site's search finds, and how it ranks it. */
import type { MarkdownEnv } from "vitepress";
import { sidebar } from "./navigation.ts";
import { optionsAsSections } from "./options.ts";
import { pageOf, routeOf } from "./routes.ts";

/** The part of markdown-it that is used here. */
interface Renderer {
  readonly options: { readonly highlight?: unknown };
  set(options: { highlight?: unknown }): unknown;
  render(text: string, env: object): string;
}

/** Renders a page for the index of the search: code without colours. */
export function renderForSearch(text: string, env: MarkdownEnv, md: Renderer): string {
  const { highlight } = md.options;
  md.set({ highlight: null });
  const html = md.render(text, env);
  md.set({ highlight });
  if (env.frontmatter?.search === false) return "";
  const shown = withName(html, pageOf(env.relativePath));
  return shown + optionsAsSections(shown);
}

/** The options of MiniSearch. */
export const searchOptions = {
  /** Allows for one slip in words from five letters on, and two from eight: `jest` is not `nest`. Becomes text, as below. */
  fuzzy: ({ length }: string): number => (length < 5 ? 0 : length < 8 ? 1 : 2),
  /** Every word has to be there. */
  combineWith: "AND" as const,
  /**
   * Ranks pages with the word in their title first, then those for most readers, and pages for few readers last. The
   * function becomes text in every page: it may use nothing from outside.
   */
  boostDocument(route: string, word: string, { title, titles }: Titles = {}): number {
    const isTitled = (titles?.[0] ?? title ?? "").toLowerCase().includes(word);
    const few = /^\/(bench|chaos|cli|contributing|demo|interop|reference|simulate|simulation)\//.test(route);
    const some = /^\/(compat|conformance|custom-adapter|evidence|membership|migrating|overview|redis\/|why)/.test(
      route,
    );
    // It has the names of other libraries for what others call a lock.
    const fewest = route.startsWith("/reference/compat/");
    const readers = fewest ? 0.1 : few ? 0.3 : some ? 0.6 : route.startsWith("/core/") ? 3 : 2;
    return readers * (isTitled ? 3 : 1);
  },
};

/** What the index keeps of a section: its title, and those of the sections around it, the page's first. */
interface Titles {
  readonly title?: string;
  readonly titles?: readonly string[];
}

/** Adds to the title of a package's page what the navigation calls it: few readers look for `@holdfast/mysql`. */
function withName(html: string, page: string): string {
  const name = sidebar.flatMap(({ items }) => items).find(({ link }) => link === routeOf(page))?.text;
  return name === undefined ? html : html.replace(/(<h1[^>]*>)(?=@holdfast\/)/, `$1${name}: `);
}
