import MarkdownIt from "markdown-it";
import type { MarkdownRenderer } from "vitepress";
import { describe, expect, it } from "vitest";
import { linkSymbols, referenceSidebar } from "../src/reference.ts";
import type { ReferenceModule } from "../src/reference-symbols.ts";

const modules: readonly ReferenceModule[] = [
  {
    name: "@holdfast/core",
    page: "core/index.md",
    symbols: [
      { name: "Lock", kind: "interface", page: "core/Lock.md", members: { fence: "fence", extend: "extend" } },
      { name: "Redlock", kind: "class", page: "core/Redlock.md", members: { close: "close" } },
      { name: "Options", kind: "interface", page: "core/Options.md", members: {} },
    ],
  },
  {
    name: "@holdfast/core/election",
    page: "core/election/index.md",
    symbols: [
      { name: "Election", kind: "interface", page: "core/election/Election.md", members: {} },
      { name: "election", kind: "function", page: "core/election/election-function.md", members: {} },
    ],
  },
  {
    name: "@holdfast/redis",
    page: "redis/index.md",
    symbols: [
      { name: "Options", kind: "interface", page: "redis/Options.md", members: {} },
      // Exported again, with its page where it belongs.
      { name: "Lock", kind: "interface", page: "core/Lock.md", members: { fence: "fence" } },
    ],
  },
];

/** Returns the links that a page gets, as `text → target`. */
function linksOf(page: string, relativePath = "guide.md"): string[] {
  const md = new MarkdownIt();
  linkSymbols(md as unknown as MarkdownRenderer, modules);
  const links = md.render(page, { relativePath }).matchAll(/<a href="([^"]*)"><code>([^<]*)<\/code><\/a>/g);
  return [...links].map(([, target, text]) => `${text} → ${target}`);
}

describe("linkSymbols()", () => {
  it("links a symbol, a call, a member and a module", () => {
    expect(
      linksOf("`Redlock`, `election(redlock, name)`, `lock.extend({ ttlMs })` and `@holdfast/core/election`"),
    ).toEqual([
      "Redlock → /reference/core/Redlock",
      "election(redlock, name) → /reference/core/election/election-function",
      "lock.extend({ ttlMs }) → /reference/core/Lock#extend",
      "@holdfast/core/election → /reference/core/election/",
    ]);
  });

  it("links the first mention on a page, in tables and lists too", () => {
    expect(linksOf("- `new Redlock(nodes)`\n- `Redlock`\n\n| a |\n| - |\n| `lock.fence` |")).toEqual([
      "new Redlock(nodes) → /reference/core/Redlock",
      "lock.fence → /reference/core/Lock#fence",
    ]);
  });

  it("changes no headings, links and blocks of code", () => {
    expect(linksOf("# `Redlock`\n\n[`Redlock`](./x.md)\n\n```ts\nRedlock\n```\n\n    Redlock")).toEqual([
      "Redlock → ./x.md",
    ]);
  });

  it("leaves words alone that are no symbol, or a function that is not called", () => {
    expect(
      linksOf("`election`, `lock.color`, `lock.constructor`, `Redlock of another kind`, `ttlMs: 5`, `Lock.x.y`"),
    ).toEqual([]);
  });

  it("links a name of two packages only on the pages of one of them", () => {
    expect(linksOf("`Options`")).toEqual([]);
    expect(linksOf("`Options`", "redis/index.md")).toContain("Options → /reference/redis/Options");
    expect(linksOf("`Options`", "reference/core/Redlock.md")).toEqual(["Options → /reference/core/Options"]);
  });

  it("links no page to itself", () => {
    expect(linksOf("`Lock`, `lock.fence`", "reference/core/Lock.md")).toEqual([
      "lock.fence → /reference/core/Lock#fence",
    ]);
  });

  it("begins the page of a package with links to its modules", () => {
    expect(linksOf("# core\n\nLocks.\n\n`Redlock`", "core/index.md")).toEqual([
      "@holdfast/core → /reference/core/",
      "@holdfast/core/election → /reference/core/election/",
      "Redlock → /reference/core/Redlock",
    ]);
  });

  it("links nothing on pages about other libraries", () => {
    expect(linksOf("`Redlock`", "migrating/from-redlock.md")).toEqual([]);
  });
});

describe("referenceSidebar()", () => {
  it("lists the modules of a package, and the symbols of the one that is shown", () => {
    const sidebar = referenceSidebar(modules);
    expect(sidebar["/reference/core/election/"]).toEqual([
      { text: "API reference", link: "/reference/" },
      { text: "core", link: "/reference/core/" },
      {
        text: "core/election",
        link: "/reference/core/election/",
        items: [
          { text: "election()", link: "/reference/core/election/election-function" },
          { text: "Election", link: "/reference/core/election/Election" },
        ],
      },
    ]);
    expect(sidebar["/reference/"]).toContainEqual({ text: "redis", link: "/reference/redis/" });
  });

  it("lists a symbol that two modules export under the module that has its page", () => {
    expect(JSON.stringify(referenceSidebar(modules)["/reference/redis/"])).not.toContain("core/Lock");
  });
});
