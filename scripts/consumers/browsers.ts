/** Bundles for browsers, and two places to run them: a bare context of V8, and Chromium. */
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createContext, runInContext } from "node:vm";
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

/** The globals that browsers add to the language. */
const webGlobals = {
  AbortController,
  AbortSignal,
  atob,
  btoa,
  clearTimeout,
  crypto,
  DOMException,
  performance,
  queueMicrotask,
  setTimeout,
};

/** Browsers have this symbol. A context of Node 20 does not. */
const newerLanguage = 'Symbol.asyncDispose ??= Symbol.for("Symbol.asyncDispose");';

/** Runs a bundled script in a context that has the language and `webGlobals`, and nothing else. */
export async function runInBareContext(script: string): Promise<void> {
  let printed = "";
  const console = { log: (...values: unknown[]) => (printed += `${values.join(" ")}\n`) };
  const context = createContext({ ...webGlobals, console });
  runInContext(newerLanguage, context);
  runInContext(script, context);
  await withinTimeout(runInContext("example.finished.then(() => true)", context), "the bundle did not finish");
  if (printed === "") throw new Error("the bundle printed nothing");
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
    await withinTimeout(page.evaluate("example.finished.then(() => true)"), "the page did not finish");
    if (printed === "") throw new Error("the bundle printed nothing");
    return printed;
  } finally {
    await browser.close();
  }
}

async function withinTimeout<T>(result: Promise<T>, problem: string): Promise<T> {
  const outcome = await Promise.race([result, sleep(timeoutMs, undefined, { ref: false })]);
  if (outcome === undefined) throw new Error(`${problem} within ${timeoutMs} ms`);
  return outcome;
}
