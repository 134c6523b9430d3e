import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { withTemporaryFolder } from "../lib/temporary-folder.ts";
import { scripts } from "../lib/workspace.ts";
import { readReference } from "../reference/reference.ts";

const main = `/** What the package is for. */

/**
 * Something is odd.
 *
 * @example
 * \`\`\`ts
 * throw new OddError();
 * \`\`\`
 */
export class OddError extends Error {
  /** How odd. */
  readonly degree: number = 1;
}

/** A vote. */
export interface Election {
  readonly name: string;
}

/**
 * Starts an election: see {@link Election}, and [a page](./page.md#votes).
 *
 * @param name its name
 * @throws {OddError} when it is odd
 * @throws {TypeError | RangeError} for a bad name
 *
 * @example
 * \`\`\`ts
 * election("a");
 * \`\`\`
 */
export function election(name: string): Election {
  return { name };
}

/** Has no example, and {@link nothing}. */
export function bare(): void {}
`;

const entry = `import { OddError } from "./main.ts";

export { OddError };
`;

const votes = `/** A person. */
export interface Person {
  /** Their name. */
  readonly name: string;
}

/** A person who votes. */
export interface Voter extends Person {
  /** The chosen one. */
  readonly choice: string;
}

/** A vote has been counted. */
export interface VotedEvent extends Readonly<Record<string, string>> {}

/**
 * Counts votes for each {@link Person.name}.
 *
 * @example
 * \`\`\`ts
 * count({ twice: true });
 * \`\`\`
 */
export function count(options: { twice?: boolean }): void {
  void options;
}
`;

const other = `/** What counts votes. */

export { count, type VotedEvent, type Voter, type Person } from "./votes.ts";
`;

const pages = new Map<string, string>();
let shortcomings: readonly string[];
let symbols: unknown;

beforeAll(async () => {
  await withTemporaryFolder(async (folder) => {
    const write = (name: string, text: string) => writeFile(join(folder, name), text);
    await write("main.ts", main);
    await write("entry.ts", entry);
    await write("votes.ts", votes);
    await write("other.ts", other);
    await write("page.md", "# Votes\n");
    const compilerOptions = { target: "ES2022", module: "NodeNext", strict: true, types: [], noEmit: true };
    const settings = { ...compilerOptions, allowImportingTsExtensions: true };
    await write(
      "tsconfig.json",
      JSON.stringify({ compilerOptions: settings, files: ["main.ts", "entry.ts", "other.ts"] }),
    );
    const options = { extends: [join(scripts, "reference/typedoc.json")], tsconfig: "./tsconfig.json" };
    await write("typedoc.json", JSON.stringify(options));

    const modules = [
      { name: "@scope/main", file: join(folder, "main.ts") },
      { name: "@scope/main/entry", file: join(folder, "entry.ts") },
      { name: "@scope/other", file: join(folder, "other.ts") },
    ];
    const reference = await readReference(modules, join(folder, "typedoc.json"));
    await reference.write(join(folder, "reference"));
    shortcomings = reference.shortcomings();
    for (const page of await readdir(join(folder, "reference"), { recursive: true })) {
      if (page.endsWith(".md")) pages.set(page, await readFile(join(folder, "reference", page), "utf8"));
    }
    symbols = JSON.parse(await readFile(join(folder, "reference/symbols.json"), "utf8"));
  });
});

describe("readReference()", () => {
  it("finds functions without an example", () => {
    expect(shortcomings).toContain("bare of @scope/main has no @example");
    expect(shortcomings.join("\n")).not.toMatch(/(OddError|election) of/);
  });

  it("finds symbols and modules without a comment, and links that lead nowhere", () => {
    const text = shortcomings.join("\n");
    expect(text).toContain("@scope/main/entry has no comment at its beginning");
    expect(text).toMatch(/Election\.name.*does not have any documentation/);
    expect(text).toMatch(/Failed to resolve link to "nothing"/);
    expect(shortcomings).toHaveLength(4);
  });
});

/** Returns the section of a page whose heading has this anchor. */
function section(page: string, anchor: string): string {
  return (
    pages
      .get(page)
      ?.split(/^(?=## )/m)
      .find((text) => text.split("\n", 1)[0]?.endsWith(`{#${anchor}}`)) ?? ""
  );
}

describe("write()", () => {
  it("writes a page for each module", () => {
    expect([...pages.keys()].sort()).toEqual(["index.md", "main/entry/index.md", "main/index.md", "other/index.md"]);
  });

  it("writes a section for each symbol and member, what programs call first, and no other headings", () => {
    const headings = (page: string) => pages.get(page)?.match(/^##.*$/gm);
    expect(headings("main/index.md")).toEqual([
      "## bare() {#bare}",
      "## election() {#election-function}",
      "## OddError {#odderror}",
      "### degree {#odderror-degree}",
      "## Election {#election}",
      "### name {#election-name}",
    ]);
    expect(headings("other/index.md")).toEqual([
      "## count() {#count}",
      "## Person {#person}",
      "### name {#person-name}",
      "## Voter {#voter}",
      "### choice {#voter-choice}",
      "### name {#voter-name}",
      "## VotedEvent {#votedevent}",
    ]);
  });

  it("shows the parameters of a function and its example", () => {
    const text = section("main/index.md", "election-function");
    expect(text).toContain("- `name`: its name");
    expect(text).toContain('**Example**\n\n```ts\nelection("a");\n```');
  });

  it("shows the constructor of a class, and what the class extends", () => {
    const text = section("main/index.md", "odderror");
    expect(text).toContain("**Extends**\n\n- `Error`");
    expect(text).toContain("> **new OddError**(");
  });

  it("names the other modules that export a symbol", () => {
    expect(section("main/index.md", "odderror")).toContain("\n\nAlso exported by `@scope/main/entry`.\n");
    expect(section("main/index.md", "election")).not.toContain("Also exported");
  });

  it("shows the properties of a parameter without a named type", () => {
    expect(section("other/index.md", "count")).toContain("`twice?`: `boolean`");
  });

  it("lists what a function throws, with links", () => {
    const list = "- [`OddError`](#odderror): when it is odd\n- `TypeError` or `RangeError`: for a bad name\n";
    expect(section("main/index.md", "election-function")).toContain(`**Throws**\n\n${list}`);
  });

  it("links to symbols, and to files where they are", () => {
    const text = section("main/index.md", "election-function");
    expect(text).toContain("see [Election](#election), and [a page](../../page.md#votes)");
  });

  it("links to a member where it is declared, even if others inherit it", () => {
    expect(section("other/index.md", "count")).toContain("[Person.name](#person-name)");
  });

  it("describes the first function that a module exports with its own comment", () => {
    expect(section("other/index.md", "count")).toContain("Counts votes for each");
  });

  it("describes each module on the first page, with the comment at its beginning", () => {
    expect(pages.get("index.md")).toContain(
      "| [main](main/index.md) | What the package is for. | [`bare()`](main/index.md#bare), [`election()`](main/index.md#election-function) |",
    );
  });

  it("leads from a module that exports a symbol again to the section of this symbol", () => {
    expect(pages.get("main/entry/index.md")).toContain("[OddError](../index.md#odderror) | Something is odd.");
  });

  it("lists all symbols for the site", () => {
    const page = "main/index.md";
    const error = { name: "OddError", kind: "class", page, anchor: "odderror", members: { degree: "odderror-degree" } };
    expect(symbols).toMatchObject([
      {
        name: "@scope/main",
        page,
        symbols: [
          { name: "bare", kind: "function", page, anchor: "bare", members: {} },
          { name: "election", kind: "function", page, anchor: "election-function", members: {} },
          error,
          { name: "Election", kind: "interface", page, anchor: "election", members: { name: "election-name" } },
        ],
      },
      { name: "@scope/main/entry", page: "main/entry/index.md", symbols: [error] },
      { name: "@scope/other" },
    ]);
  });
});
