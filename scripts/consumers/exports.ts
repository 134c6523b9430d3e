/** Programs that look whether a package exports what its types declare, no more and no less. */
import type { Manifest } from "../lib/workspace.ts";

/** What can be imported of a package: its name, and those of its further entry points. */
export function entryPoints({ name, exports = {} }: Manifest): string[] {
  return Object.keys(exports).map((path) => name + path.slice(1));
}

/** A program that prints what entry points export, as JSON: a list of names for each. */
export function exportsPrinter(entries: readonly string[]): string {
  const lists = entries.map((entry) => `${JSON.stringify(entry)}: Object.keys(await import("${entry}"))`);
  return `console.log(JSON.stringify({ ${lists.join(", ")} }));`;
}

/**
 * A program that compares what entry points export: to the types when it is compiled, and to `names` when it runs.
 * As a CommonJS module it gets them with `require()`.
 */
export function exportsProgram(names: Readonly<Record<string, readonly string[]>>, kind: "import" | "require"): string {
  const statement = (binding: string, name: string) =>
    kind === "import" ? `import * as ${binding} from "${name}";` : `import ${binding} = require("${name}");`;
  const entries = Object.entries(names);
  const checks = entries.map(([entry, exported], index) => {
    const record = exported.map((name) => `${name}: true`).join(", ");
    return `const names${index}: Record<keyof typeof entry${index}, true> = { ${record} };
assert.deepEqual(Object.keys(entry${index}).sort(), Object.keys(names${index}).sort());
console.log("${entry} exports", Object.keys(entry${index}).length, "names");`;
  });
  const imports = entries.map(([entry], index) => statement(`entry${index}`, entry));
  const assert = kind === "import" ? 'import assert from "node:assert";' : statement("assert", "node:assert");
  return [assert, ...imports, ...checks, ""].join("\n");
}
