import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { slug } from "github-slugger";
import { defineConfig, type Plugin } from "vitepress";
import { playStories } from "../src/home/play-stories.ts";
import { descriptionOf } from "../src/pages/description.ts";
import { linkPages } from "../src/pages/links.ts";
import { nav, sidebar } from "../src/pages/navigation.ts";
import { anchorOptions } from "../src/pages/options.ts";
import { notInSmallSite, notPages, pageOf } from "../src/pages/routes.ts";
import { renderForSearch, searchOptions } from "../src/pages/search.ts";
import { linkSymbols, referenceSidebar } from "../src/reference.ts";
import { referenceModules } from "../src/reference-symbols.ts";

const root = resolve(import.meta.dirname, "../../..");
const reference = referenceModules(root);

/** Whether to build only the first page, the playground and a guide: in half of the time, for tests of a change. */
const isSmall = process.env.SITE_SMALL === "1";

/** Pages outside this package cannot resolve Vue, which the bundle of the build's server imports at run time. */
const externalVue: Plugin = {
  name: "external-vue",
  enforce: "pre",
  resolveId: (id, _importer, { ssr }) => (ssr && /^vue(\/server-renderer)?$/.test(id) ? { id, external: true } : null),
};

/** Does without what only browsers need in the bundle that renders pages: an index of the search, and a small size. */
const leanServer: Plugin = {
  name: "lean-server",
  enforce: "pre",
  config: (_config, { isSsrBuild }) => (isSsrBuild ? { build: { rollupOptions: { treeshake: false } } } : {}),
  load: (id, { ssr } = {}) => (ssr && id === "/@localSearchIndex" ? "export default {}" : null),
};

/** The repository in a browser, without `.git`; undefined until the manifest names it. */
const { repository, homepage = "" }: Manifest = JSON.parse(readFileSync(resolve(root, "package.json"), "utf8"));
const repositoryUrl = repository?.replace(/(\.git)?\/?$/, "");

/** The part of the root manifest that the site uses. */
interface Manifest {
  readonly repository?: string;
  /** The address of the site, which pictures in other places need. */
  readonly homepage?: string;
}

/** A padlock whose body is a fence. Its colour is readable on light and on dark pages. */
const logo = "/logo.svg";

/** The site's pages are the Markdown files of the repository, where they are. */
export default defineConfig({
  srcDir: root,
  srcExclude: [...notPages, ...(isSmall ? notInSmallSite : [])],
  ignoreDeadLinks: isSmall,
  rewrites: pageOf,
  outDir: resolve(import.meta.dirname, "dist"),
  cacheDir: resolve(import.meta.dirname, "../node_modules/.cache/vitepress"),
  cleanUrls: true,
  // Otherwise each page contains the list of all pages, and the navigation of all of them.
  metaChunk: true,
  lang: "en",
  head: [["link", { rel: "icon", href: logo }]],
  title: "Holdfast",
  description: "Distributed locks for TypeScript that state what they guarantee, and keep it.",
  markdown: {
    // Text such as `<name>` is text, as on a code host.
    html: false,
    // The colours of other light themes are too faint on the background of code.
    theme: { light: "github-light-high-contrast", dark: "github-dark-default" },
    anchor: { slugify: slug },
    languageAlias: { cron: "sh" },
    config: (md) => {
      linkPages(md, root);
      playStories(md);
      anchorOptions(md);
      linkSymbols(md, reference);
    },
  },
  themeConfig: {
    logo,
    nav: [...nav, ...(repositoryUrl === undefined ? [] : [{ text: "Repository", link: repositoryUrl }])],
    ...(repositoryUrl !== undefined && { editLink: { pattern: `${repositoryUrl}/edit/main/:path` } }),
    footer: {
      message: 'Released under the <a href="/source/license">MIT licence</a>. <a href="/security">Security</a>',
    },
    sidebar: { "/": sidebar, "/reference/": referenceSidebar(reference) },
    outline: [2, 3],
    search: { provider: "local", options: { miniSearch: { searchOptions }, _render: renderForSearch } },
    notFound: { linkLabel: "Take me home" },
  },
  transformPageData: ({ description, filePath, frontmatter }) => ({
    description: description || descriptionOf(readFileSync(resolve(root, filePath), "utf8")),
    // Programs write these pages.
    ...(/^(docs\/generated|apps\/site\/reference)\//.test(filePath) && {
      frontmatter: { ...frontmatter, editLink: false },
    }),
  }),
  transformHead: ({ title, description }) => [
    ["meta", { property: "og:title", content: title }],
    ["meta", { property: "og:description", content: description }],
    ["meta", { property: "og:image", content: `${homepage}/social.png` }],
    ["meta", { name: "twitter:card", content: "summary_large_image" }],
  ],
  vite: {
    publicDir: resolve(import.meta.dirname, "../public"),
    resolve: {
      conditions: ["@holdfast/source"],
      alias: [
        // VitePress resolves it from the root of the repository, which does not depend on Vue.
        {
          find: "vue/jsx-runtime",
          replacement: resolve(import.meta.dirname, "../node_modules/vue/jsx-runtime/index.mjs"),
        },
        // Parts of the theme that no page uses: home pages, teams, links to other sites, and another search.
        {
          find: /^\.\/(components\/)?VP(Home|Page|Team|Sponsors|Social|Badge|NavBarSocial|NavBarTrans|NavBarMenuGroup|NavScreenSocial|NavScreenTrans|NavScreenMenuGroup|DocFooterLastUpdated|Carbon|Algolia)\w*\.vue$/,
          replacement: resolve(import.meta.dirname, "theme/nothing.ts"),
        },
        {
          find: /^\.\/styles\/components\/(custom-block|vp-sponsor)\.css$/,
          replacement: resolve(import.meta.dirname, "theme/nothing.ts"),
        },
        { find: "@docsearch/css", replacement: resolve(import.meta.dirname, "theme/nothing.ts") },
      ],
    },
    ssr: { resolve: { conditions: ["@holdfast/source"] } },
    // Private fields stay as they are, and nothing here needs Vue's older way to write components.
    build: { target: "es2022" },
    worker: { format: "es" },
    define: { __VUE_OPTIONS_API__: "false" },
    // Bundled by itself while serving, it would bring a second Vue.
    optimizeDeps: { exclude: ["vue/jsx-runtime"] },
    plugins: [externalVue, leanServer],
    esbuild: { jsx: "automatic", jsxImportSource: "vue", jsxDev: false },
  },
});
