/** Bundles for browsers, and two places to run them: a bare context of V8, and Chromium. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { createContext, runInContext } from "node:vm";
import { build } from "esbuild";
import { withTemporaryFolder } from "../lib/temporary-folder.ts";
import type { Chromium } from "./runtimes.ts";

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

interface Report {
  readonly printed: string;
  readonly error: string;
}

/** Runs a bundled script in a page of Chromium, and returns what the script printed. */
export async function runInChromium({ binary }: Chromium, script: string): Promise<string> {
  return withTemporaryFolder(async (profile) => {
    const server = createServer();
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const reported = new Promise<Report>((resolve, reject) => {
      server.on("request", async (request, response) => {
        response.setHeader("content-type", "text/html; charset=utf-8");
        response.end(request.url === "/" ? page(script) : "");
        if (request.method === "POST") text(request).then(JSON.parse).then(resolve, reject);
      });
    });
    const browser = open(binary, profile, `http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
    try {
      const { printed, error } = await withinTimeout(reported, "the page did not report");
      if (error !== "" || printed === "") throw new Error(error || "the bundle printed nothing");
      return printed;
    } finally {
      await end(browser);
      server.closeAllConnections();
      server.close();
    }
  });
}

function page(script: string): string {
  return `<!doctype html><meta charset="utf-8"><script>
let printed = "";
console.log = (...values) => { printed += values.join(" ") + "\\n"; };
const report = (error) => fetch("/report", { method: "POST", body: JSON.stringify({ printed, error }) });
addEventListener("error", ({ message }) => report(message));
</script><script>
${script.replaceAll("</script", "<\\/script")}
example.finished.then(() => report(""), (error) => report(String(error)));
</script>`;
}

function open(binary: string, profile: string, url: string): ChildProcess {
  const flags = ["--headless", "--no-sandbox", "--no-zygote", "--disable-gpu", `--user-data-dir=${profile}`];
  return spawn(binary, [...flags, url], { stdio: "ignore", detached: true }); // detached: starts a process group
}

/** Kills the process group of the browser. */
async function end(browser: ChildProcess): Promise<void> {
  if (browser.pid === undefined || browser.exitCode !== null) return;
  const ended = once(browser, "exit");
  process.kill(-browser.pid, "SIGKILL");
  await ended;
}

async function withinTimeout<T>(result: Promise<T>, problem: string): Promise<T> {
  const outcome = await Promise.race([result, sleep(timeoutMs, undefined, { ref: false })]);
  if (outcome === undefined) throw new Error(`${problem} within ${timeoutMs} ms`);
  return outcome;
}
