import MarkdownIt from "markdown-it";
import type { MarkdownRenderer } from "vitepress";
import { describe, expect, it } from "vitest";
import { linkSymbols, referenceSidebar } from "../src/reference.ts";
import type { ReferenceModule, ReferenceSymbol } from "../src/reference-symbols.ts";

/** A symbol of the page of a module, with the anchors of its members. */
function symbol(kind: ReferenceSymbol["kind"], page: string, name: string, ...members: string[]): ReferenceSymbol {
  const anchor = kind === "function" ? `${name}-function` : name.toLowerCase();
  return { name, kind, page, anchor, members: Object.fromEntries(members.map((one) => [one, `${anchor}-${one}`])) };
}

const core = "core/index.md";
const election = "core/election/index.md";
const redis = "redis/index.md";
const lock = symbol("interface", core, "Lock", "fence", "extend");
const modules: readonly ReferenceModule[] = [
  {
    name: "@holdfast/core",
    page: core,
    symbols: [lock, symbol("class", core, "Redlock", "close"), symbol("interface", core, "Options")],
  },
  {
    name: "@holdfast/core/election",
    page: election,
    symbols: [symbol("interface", election, "Election"), symbol("function", election, "election")],
  },
  // It exports Lock again, with its section where it belongs.
  { name: "@holdfast/redis", page: redis, symbols: [symbol("interface", redis, "Options"), lock] },
];

/** Returns the links that a page gets, as `text → target`. */
function linksOf(page: string, relativePath = "guide.md"): string[] {
  const md = new MarkdownIt();
  // As VitePress does.
  md.core.ruler.push("heading_ids", ({ tokens }) => {
    for (const [index, { content }] of tokens.entries()) {
      const [, id] = /\{#(.*)\}$/.exec(content) ?? [];
      if (id !== undefined) tokens[index - 1]?.attrSet("id", id);
    }
  });
  linkSymbols(md as unknown as MarkdownRenderer, modules);
  const links = md.render(page, { relativePath }).matchAll(/<a href="([^"]*)"><code>([^<]*)<\/code><\/a>/g);
  return [...links].map(([, target, text]) => `${text} → ${target}`);
}

describe("linkSymbols()", () => {
  it("links a symbol, a call, a member and a module", () => {
    expect(
      linksOf("`Redlock`, `election(redlock, name)`, `lock.extend({ ttlMs })` and `@holdfast/core/election`"),
    ).toEqual([
      "Redlock → /reference/core/#redlock",
      "election(redlock, name) → /reference/core/election/#election-function",
      "lock.extend({ ttlMs }) → /reference/core/#lock-extend",
      "@holdfast/core/election → /reference/core/election/",
    ]);
  });

  it("links the first mention on a page, in tables and lists too", () => {
    expect(linksOf("- `new Redlock(nodes)`\n- `Redlock`\n\n| a |\n| - |\n| `lock.fence` |")).toEqual([
      "new Redlock(nodes) → /reference/core/#redlock",
      "lock.fence → /reference/core/#lock-fence",
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
    expect(linksOf("`Options`", "redis/index.md")).toContain("Options → /reference/redis/#options");
    expect(linksOf("`Options`", "reference/core/index.md")).toEqual(["Options → /reference/core/#options"]);
  });

  it("links no section of the reference to itself, and the first mention in each", () => {
    expect(
      linksOf("## Lock {#lock}\n\n`Lock`, `lock.fence`\n\n## Redlock {#redlock}\n\n`Lock`", "reference/core/index.md"),
    ).toEqual(["lock.fence → /reference/core/#lock-fence", "Lock → /reference/core/#lock"]);
  });

  it("begins the page of a package with links to its modules", () => {
    expect(linksOf("# core\n\nLocks.\n\n`Redlock`", "core/index.md")).toEqual([
      "@holdfast/core → /reference/core/",
      "@holdfast/core/election → /reference/core/election/",
      "Redlock → /reference/core/#redlock",
    ]);
  });

  it("links nothing on pages about other libraries", () => {
    expect(linksOf("`Redlock`", "migrating/from-redlock.md")).toEqual([]);
  });
});

describe("referenceSidebar()", () => {
  it("lists all modules", () => {
    expect(referenceSidebar(modules)).toEqual([
      { text: "API reference", link: "/reference/" },
      { text: "core", link: "/reference/core/" },
      { text: "core/election", link: "/reference/core/election/" },
      { text: "redis", link: "/reference/redis/" },
    ]);
  });
});
