/** A program of a consumer's project as a bundle for browsers, and a place without Node to run it in. */
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createContext, runInContext } from "node:vm";
import { build } from "esbuild";
import { browserSubjects } from "./compilers.ts";
import type { ConsumerProject, Program } from "./project.ts";

/** The examples of the packages that run in browsers. */
export function browserExamples({ programs }: ConsumerProject): Program[] {
  return programs.filter(({ kind, subject }) => kind === "example" && browserSubjects.includes(subject));
}

/**
 * Bundles a program as a script, which leaves the promise `example.finished`. A built-in module of Node does not resolve
 * for a browser, and is thus an error.
 */
export async function bundle({ directory }: ConsumerProject, { name }: Program): Promise<string> {
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
  return outputFiles.map(({ text }) => text).join("\n");
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

/** Runs a bundled script where there is nothing but the language and what browsers add to it. */
export async function runInBareContext(script: string): Promise<string> {
  let printed = "";
  const console = { log: (...values: unknown[]) => (printed += `${values.join(" ")}\n`) };
  const context = createContext({ ...webGlobals, console });
  runInContext(newerLanguage, context);
  runInContext(script, context);
  const deadline = sleep(longestProgramMs, "late", { ref: false });
  if ((await Promise.race([runInContext("example.finished", context), deadline])) === "late") {
    throw new Error(`the bundle did not finish within ${longestProgramMs} ms`);
  }
  if (printed === "") throw new Error("the bundle printed nothing");
  return "✓";
}
