import { access, constants } from "node:fs/promises";
import { delimiter, join } from "node:path";

/** The names of Chromium, and of browsers built from it. The first needs the least CPU time. */
const names = ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"];

/** Where macOS installs it, off the PATH. */
const macBrowser = "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome";

/** Finds the program of Chromium or a browser built from it; undefined if none is installed. */
export async function findChromium(): Promise<string | undefined> {
  const folders = (process.env.PATH ?? "").split(delimiter).filter((folder) => folder !== "");
  for (const file of [...names.flatMap((name) => folders.map((folder) => join(folder, name))), macBrowser]) {
    if (await isProgram(file)) return file;
  }
  return undefined;
}

async function isProgram(file: string): Promise<boolean> {
  try {
    await access(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
