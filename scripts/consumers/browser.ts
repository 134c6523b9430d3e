/** A program of a consumer's project as a bundle for browsers, and a place without Node to run it in. */
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createContext, runInContext } from "node:vm";
import { build } from "esbuild";
import { browserSubjects } from "./compilers.ts";
import type { ConsumerProject } from "./project.ts";

/**
 * Bundles the example of each package that runs in browsers. The script leaves `example.finished`, a promise.
 * A built-in module of Node does not resolve for a browser, and is thus an error.
 */
export async function browserBundles({ directory, programs }: ConsumerProject): Promise<Map<string, string>> {
  const bundles = new Map<string, string>();
  const examples = programs.filter(({ kind, subject }) => kind === "example" && browserSubjects.includes(subject));
  for (const { name, subject } of examples) {
    const { outputFiles } = await build({
      entryPoints: [join(directory, `programs/${name}.cts`)],
      absWorkingDir: directory,
      bundle: true,
      format: "iife",
      globalName: "example",
      platform: "browser",
      target: "es2022",
      write: false,
      logLevel: "silent",
    });
    bundles.set(subject, outputFiles[0]?.text ?? "");
  }
  return bundles;
}

/** What browsers have beside the language. */
const webGlobals = {
  AbortController,
  AbortSignal,
  clearTimeout,
  crypto,
  DOMException,
  performance,
  queueMicrotask,
  setTimeout,
};

/** Browsers have it; a context of Node 20 has not. */
const newerLanguage = 'Symbol.asyncDispose ??= Symbol.for("Symbol.asyncDispose");';

const longestProgramMs = 60_000;

/** Runs a bundle where there is nothing but the language and what browsers add to it. */
export async function runInBareContext(bundle: string): Promise<string> {
  let printed = "";
  const console = { log: (...values: unknown[]) => (printed += `${values.join(" ")}\n`) };
  const context = createContext({ ...webGlobals, console });
  runInContext(newerLanguage, context);
  runInContext(bundle, context);
  const deadline = sleep(longestProgramMs, "late", { ref: false });
  if ((await Promise.race([runInContext("example.finished", context), deadline])) === "late") {
    throw new Error(`the bundle did not finish within ${longestProgramMs} ms`);
  }
  if (printed === "") throw new Error("the bundle printed nothing");
  return "✓";
}
