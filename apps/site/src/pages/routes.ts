/** Which Markdown files of the repository are pages of the site, and at which routes. */

/** Where files become pages: the first pattern that matches a file's path decides. */
const rules: readonly (readonly [pattern: RegExp, page: string])[] = [
  [/^README\.md$/, "overview.md"],
  [/^ARCHITECTURE\.md$/, "contributing/architecture.md"],
  [/^CONTRIBUTING\.md$/, "contributing/index.md"],
  [/^RELEASING\.md$/, "contributing/releasing.md"],
  [/^SECURITY\.md$/, "security.md"],
  [/^scripts\/README\.md$/, "contributing/commands.md"],
  [/^spec\/README\.md$/, "evidence/model.md"],
  [/^docs\/decisions\/(.*)$/, "contributing/decisions/$1"],
  [/^docs\/evidence\.md$/, "evidence/index.md"],
  [/^docs\/found\.md$/, "evidence/found.md"],
  [/^docs\/generated\/(.*)README\.md$/, "evidence/$1index.md"],
  [/^docs\/generated\/(.*)$/, "evidence/$1"],
  [/^docs\/benchmark\/(.*)$/, "evidence/benchmark/$1"],
  [/^docs\/(.*)$/, "$1"],
  [/^apps\/site\/pages\/(.*)$/, "$1"],
  [/^apps\/site\/reference\/(.*)$/, "reference/$1"],
  [/^(?:packages|apps)\/([^/]+)\/README\.md$/, "$1/index.md"],
  [/^packages\/([^/]+)\/([^/]+)\.md$/, "$1/$2.md"],
];

/** Markdown files of the repository that are not pages, as globs. */
export const notPages: readonly string[] = [
  "**/CHANGELOG.md",
  "**/.*/**",
  "**/{test,reports,fixtures}/**",
  "apps/site/README.md",
  "scripts/*/**",
];

/** The pages that a small site does without, as globs. */
export const notInSmallSite: readonly string[] = [
  "*.md",
  "{packages,scripts,spec}/**",
  "apps/!(site)/**",
  "apps/site/{reference,pages/source}/**",
  "docs/*/**",
  "docs/!(guarantees).md",
];

/** Whether a file of the repository is a page. */
export function isPage(file: string): boolean {
  const isTemplate = file.includes("[");
  return (
    file.endsWith(".md") && !isTemplate && file !== "apps/site/README.md" && rules.some(([rule]) => rule.test(file))
  );
}

/** Returns the page of a Markdown file; both are paths that end with `.md`. */
export function pageOf(file: string): string {
  for (const [pattern, page] of rules) {
    if (!pattern.test(file)) continue;
    return file.replace(pattern, page).toLowerCase();
  }
  throw new Error(`no rule of routes.ts gives ${file} a route`);
}

/** Returns the route of a page: `core/index.md` is at `/core/`. */
export function routeOf(page: string): string {
  return `/${page.replace(/(^|\/)index\.md$/, "$1").replace(/\.md$/, "")}`;
}

/** Returns the route of the page that shows a source file: the site's router takes paths with other extensions for downloads. */
export function sourceRouteOf(file: string): string {
  return `/source/${sourceSlug(file)}`;
}

/** Returns the last part of that route. */
export function sourceSlug(file: string): string {
  return file.replaceAll(".", "-").toLowerCase();
}
