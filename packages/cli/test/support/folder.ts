import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { reapedDirectory } from "@holdfast/testkit";

/** Creates a temporary folder with these files: text as it is, and everything else as JSON. */
export async function folderWith(files: Readonly<Record<string, unknown>>): Promise<string> {
  const folder = await reapedDirectory();
  for (const [name, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), typeof content === "string" ? content : JSON.stringify(content));
  }
  return folder;
}
