/** The programs that READMEs show, as files of a consumer's project. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { readmeExamples } from "@holdfast/docs-testkit";
import { root, type WorkspacePackage } from "../lib/workspace.ts";

/** A block of TypeScript in a README. */
export interface Example {
  /** The folder name of the package that it shows, or "README.md" for an example of the repository. */
  readonly subject: string;
  readonly code: string;
  /** The file name in a comment on the first line, for a program of several files. */
  readonly fileName?: string;
}

/** Returns the examples of the repository and of its published packages. */
export async function allExamples(packages: readonly WorkspacePackage[]): Promise<Example[]> {
  const folders = [root, ...packages.map(({ directory }) => directory)];
  return (await Promise.all(folders.map(examplesIn))).flat();
}

async function examplesIn(directory: string): Promise<Example[]> {
  const subject = directory === root ? "README.md" : folderName(directory);
  const examples = (await readmeExamples(join(directory, "README.md"))).map(({ code }): Example => {
    const fileName = /^\/\/ (\S+\.ts)\n/.exec(code)?.[1];
    return { subject, code, ...(fileName && { fileName }) };
  });
  if (subject !== "conformance") return examples;
  // The file that the README of the suite leaves to the reader.
  const readersNode = await readFile(join(root, "packages/ioredis/test/fixtures/my-node.ts"), "utf8");
  return [...examples, { subject, code: readersNode, fileName: "my-node.ts" }];
}

/** Returns the last part of a path, which is how tables name a package. */
export function folderName(directory: string): string {
  return directory.split("/").at(-1) ?? directory;
}

/** Returns the packages that a program imports, without built-in modules and its own files. */
export function importedPackages(code: string): string[] {
  const specifiers = [...code.matchAll(/\b(?:from |import |import\()"([^"]+)"/g)].map(
    ([, specifier = ""]) => specifier,
  );
  return specifiers
    .filter((specifier) => !/^(node:|\.)/.test(specifier))
    .map((specifier) => /^(@[^/]+\/)?[^/]+/.exec(specifier)?.[0] ?? specifier);
}

/**
 * Returns the program as a CommonJS module, which has no top-level `await`: it exports the promise `finished` instead.
 * TypeScript turns its imports into `require()`.
 */
export function insideFunction(code: string): string {
  const imports = code.match(/^import [^;]+;$/gm) ?? [];
  const rest = imports.reduce((left, statement) => left.replace(statement, ""), code).trim();
  return `${imports.join("\n")}

export const finished: Promise<void> = (async () => {
${rest}
})();
`;
}
