import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";

/** Finds libfaketime. Packages install it in a folder for each processor architecture. */
export async function findFaketime(): Promise<string | undefined> {
  const libraries = "/usr/lib";
  const folders = await readdir(libraries).catch(() => []);
  const candidates = folders.map((folder) => join(libraries, folder, "faketime/libfaketimeMT.so.1"));
  for (const candidate of [process.env.HOLDFAST_FAKETIME, ...candidates]) {
    if (candidate && (await stat(candidate).catch(() => undefined))) return candidate;
  }
  return undefined;
}
