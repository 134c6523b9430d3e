/** What the site's search finds, and how it ranks it. */
import type { MarkdownEnv } from "vitepress";

/** The part of markdown-it that is used here. */
interface Renderer {
  readonly options: { readonly highlight?: unknown };
  set(options: { highlight?: unknown }): unknown;
  render(text: string, env: object): string;
}

/** Renders a page for the index of the search: code without colours, and the reference without types of other libraries. */
export function renderForSearch(text: string, env: MarkdownEnv, md: Renderer): string {
  const { highlight } = md.options;
  md.set({ highlight: null });
  const html = md.render(text, env);
  md.set({ highlight });
  if (env.frontmatter?.search === false) return "";
  return env.relativePath.startsWith("reference/") ? html.replace(typesOfClients, "") : html;
}

/** The sections of types that describe what an adapter uses of its client library. Programs do not name them. */
const typesOfClients =
  /<h2 id="(?:ioredis|mysql|noderedis|pg|postgresjs|sqlite|valkeyglide)(?!node|fencedstore|driver).*?(?=<h2 |$)/gs;

/** The options of MiniSearch. */
export const searchOptions = {
  /** Every word has to be there. */
  combineWith: "AND" as const,
  /**
   * Ranks guides first, and pages for few readers last. The function becomes text in every page: it may use nothing from
   * outside.
   */
  boostDocument(route: string): number {
    if (/^\/(contributing|migrating)\//.test(route)) return 0.3;
    if (/^\/reference\/simulation\//.test(route)) return 0.3;
    if (/^\/(evidence|reference)\//.test(route)) return 0.5;
    const isGuide = /^\/[^/]+$/.test(route);
    return isGuide ? 2 : 1;
  },
};
