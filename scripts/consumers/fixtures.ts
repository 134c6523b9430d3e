/** The projects of `fixtures`, which are CommonJS through and through, and what they need. */
import { cp, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** What these projects install, beside our packages. */
export const fixtureTools = ["jest@30.5.2", "ts-jest@29.4.15", "typescript@5.4.5", "webpack@5.112.2"];

/** Copies the projects into that of a consumer, where they find what it has installed. */
export async function writeFixtures(directory: string, adapt: (code: string) => string): Promise<void> {
  const folder = join(directory, "commonjs");
  await cp(fileURLToPath(new URL("fixtures", import.meta.url)), folder, { recursive: true });
  for (const file of await readdir(folder, { recursive: true })) {
    if (!/\.[cm]?[jt]s$/.test(file)) continue;
    await writeFile(join(folder, file), adapt(await readFile(join(folder, file), "utf8")));
  }
}
