/** Programs that compare what a package exports with what its types declare. */
import type { Manifest } from "../lib/workspace.ts";

/** Returns the entry points of a package: its name, and the paths that extend it. */
export function entryPoints({ name, exports = {} }: Manifest): string[] {
  return Object.keys(exports).map((path) => name + path.slice(1));
}

/** Returns a program that prints the names that each entry point exports, as JSON. */
export function exportsPrinter(entries: readonly string[]): string {
  const lists = entries.map((entry) => `${JSON.stringify(entry)}: Object.keys(await import("${entry}"))`);
  return `console.log(JSON.stringify({ ${lists.join(", ")} }));`;
}

/**
 * Returns a program that compares what entry points export: with their types when it is compiled, and with `names` when
 * it runs. A CommonJS program loads them with `require()`.
 */
export function exportsProgram(names: Readonly<Record<string, readonly string[]>>, kind: "import" | "require"): string {
  const statement = (binding: string, name: string) =>
    kind === "import" ? `import * as ${binding} from "${name}";` : `import ${binding} = require("${name}");`;
  const entries = Object.entries(names);
  const checks = entries.map(([entry, exported], index) => {
    const record = exported.map((name) => `${name}: true`).join(", ");
    return `const names${index}: Record<keyof typeof entry${index}, true> = { ${record} };
const own${index} = Object.keys(entry${index}).filter((name) => name !== "__esModule"); // added beside a default
assert.deepEqual(own${index}.sort(), Object.keys(names${index}).sort());
console.log("${entry} exports", Object.keys(entry${index}).length, "names");`;
  });
  const imports = entries.map(([entry], index) => statement(`entry${index}`, entry));
  const assert = kind === "import" ? 'import assert from "node:assert";' : statement("assert", "node:assert");
  return [assert, ...imports, ...checks, ""].join("\n");
}
