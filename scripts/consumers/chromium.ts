/** Runs bundled scripts in a real, headless Chromium, which comes as an npm package. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createReadStream, createWriteStream, existsSync } from "node:fs";
import { mkdir, rename, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { createBrotliDecompress } from "node:zlib";
import { withTemporaryFolder } from "../lib/temporary-folder.ts";
import { npmInstall } from "./project.ts";
import { cache } from "./runtimes.ts";

const version = "153.0.0";
const longestRunMs = 60_000;

export interface Chromium {
  readonly name: string;
  readonly binary: string;
}

/** Installs Chromium, unless it is there from an earlier run. The package is for Linux on x64. */
export async function chromium(): Promise<Chromium> {
  const folder = join(cache, "chromium");
  const binary = join(folder, `chromium-${version}`);
  if (!existsSync(binary)) {
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, "package.json"), JSON.stringify({ private: true }));
    await npmInstall([`@sparticuz/chromium@${version}`], folder);
    const packed = createReadStream(join(folder, "node_modules/@sparticuz/chromium/bin/chromium.br"));
    await pipeline(packed, createBrotliDecompress(), createWriteStream(`${binary}.part`, { mode: 0o755 }));
    await rename(`${binary}.part`, binary);
  }
  return { name: `Chromium ${version.split(".")[0]}`, binary };
}

interface Report {
  readonly printed: string;
  readonly error: string;
}

/** Opens a page that runs a bundled script and sends home what it printed. */
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
      const report = await Promise.race([reported, sleep(longestRunMs, undefined, { ref: false })]);
      if (!report) throw new Error(`the page did not report within ${longestRunMs} ms`);
      if (report.error !== "" || report.printed === "") throw new Error(report.error || "the bundle printed nothing");
      return "✓";
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
  return spawn(binary, [...flags, url], { stdio: "ignore", detached: true }); // detached: a process group of its own
}

/** Ends the browser, with the processes that it started. */
async function end(browser: ChildProcess): Promise<void> {
  if (browser.pid === undefined || browser.exitCode !== null) return;
  const ended = once(browser, "exit");
  process.kill(-browser.pid, "SIGKILL");
  await ended;
}
