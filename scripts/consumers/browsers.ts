/** Bundles for browsers, and a page of Chromium that runs them. */
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { build } from "esbuild";
import { chromium } from "playwright-core";
import type { Chromium } from "./runtimes.ts";

const url = "http://localhost/";
const timeoutMs = 60_000;

/**
 * Bundles a program as a script that leaves the promise `example.finished`. Fails if the program needs a built-in
 * module of Node, as browsers cannot resolve it.
 *
 * @param program its path in the directory
 */
export async function bundle(directory: string, program: string, conditions: string[] = []): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [join(directory, program)],
    absWorkingDir: directory,
    conditions,
    bundle: true,
    format: "iife",
    globalName: "example",
    platform: "browser",
    target: "es2022",
    write: false,
    logLevel: "silent",
  });
  return outputFiles.map((file) => file.text).join("\n");
}

/** Runs a bundled script in a page of Chromium, and returns what the script printed. */
export async function runInChromium({ binary }: Chromium, script: string): Promise<string> {
  const browser = await chromium.launch({ executablePath: binary });
  try {
    const page = await browser.newPage();
    let printed = "";
    page.on("console", (message) => {
      printed += `${message.text()}\n`;
    });
    // A page of this machine may use all that pages by HTTPS may.
    await page.route(url, (route) => route.fulfill({ contentType: "text/html", body: "<!doctype html>" }));
    await page.goto(url);
    await page.addScriptTag({ content: script });
    const finished = page.evaluate("example.finished.then(() => true)");
    const late = sleep(timeoutMs, false, { ref: false });
    if (!(await Promise.race([finished, late]))) throw new Error(`the page did not finish within ${timeoutMs} ms`);
    if (printed === "") throw new Error("the bundle printed nothing");
    return printed;
  } finally {
    await browser.close();
  }
}
