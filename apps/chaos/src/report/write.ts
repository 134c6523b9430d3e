import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";

/** Writes files into a folder. Resolves with the path of the page. */
export async function writeFiles(directory: string, files: ReadonlyMap<string, string>): Promise<string> {
  for (const [path, text] of files) {
    await mkdir(dirname(join(directory, path)), { recursive: true });
    await writeFile(join(directory, path), text);
  }
  return join(directory, "README.md");
}
