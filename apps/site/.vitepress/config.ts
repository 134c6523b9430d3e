import { resolve } from "node:path";
import { slug } from "github-slugger";
import { defineConfig, type Plugin } from "vitepress";
import { drawPictures, loadDraw } from "../src/charts/pictures.ts";
import { linkPages } from "../src/pages/links.ts";
import { nav, sidebar } from "../src/pages/navigation.ts";
import { notPages, pageOf } from "../src/pages/routes.ts";
import { searchOptions } from "../src/pages/search.ts";
import { linkSymbols, referenceSidebar } from "../src/reference.ts";
import { referenceModules } from "../src/reference-symbols.ts";

const root = resolve(import.meta.dirname, "../../..");
const reference = referenceModules(root);

/** Pages outside this package cannot resolve Vue, which the bundle of the build's server imports at run time. */
const externalVue: Plugin = {
  name: "external-vue",
  enforce: "pre",
  resolveId: (id, _importer, { ssr }) => (ssr && /^vue(\/server-renderer)?$/.test(id) ? { id, external: true } : null),
};

/** The site's pages are the Markdown files of the repository, where they are. */
export default defineConfig({
  srcDir: root,
  srcExclude: [...notPages],
  rewrites: pageOf,
  outDir: resolve(import.meta.dirname, "dist"),
  cacheDir: resolve(import.meta.dirname, "../node_modules/.cache/vitepress"),
  cleanUrls: true,
  // Otherwise each page contains the list of all pages, and the navigation of all of them.
  metaChunk: true,
  lang: "en",
  title: "Holdfast",
  description: "Distributed locks for TypeScript that state what they guarantee, and keep it.",
  markdown: {
    // Text such as `<name>` is text, as on a code host.
    html: false,
    // The colors of other light themes are too faint on the background of code.
    theme: { light: "github-light-high-contrast", dark: "github-dark-default" },
    anchor: { slugify: slug },
    languageAlias: { cron: "sh" },
    config: async (md) => {
      linkPages(md, root);
      linkSymbols(md, reference);
      drawPictures(md, await loadDraw());
    },
  },
  themeConfig: {
    nav,
    sidebar: { "/": sidebar, ...referenceSidebar(reference) },
    outline: [2, 3],
    search: { provider: "local", options: { miniSearch: { searchOptions } } },
    notFound: { linkLabel: "Take me home" },
  },
  vite: {
    resolve: {
      conditions: ["@holdfast/source"],
      alias: [
        // VitePress resolves it from the root of the repository, which does not depend on Vue.
        {
          find: "vue/jsx-runtime",
          replacement: resolve(import.meta.dirname, "../node_modules/vue/jsx-runtime/index.mjs"),
        },
      ],
    },
    ssr: { resolve: { conditions: ["@holdfast/source"] } },
    worker: { format: "es" },
    // Bundled by itself while serving, it would bring a second Vue.
    optimizeDeps: { exclude: ["vue/jsx-runtime"] },
    plugins: [externalVue],
    esbuild: { jsx: "automatic", jsxImportSource: "vue", jsxDev: false },
  },
});
