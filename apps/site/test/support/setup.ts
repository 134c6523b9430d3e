/**
 * Serves the built site, and a browser, to all test files. Nothing is built or started before a test asks for it, except that
 * `pnpm test` builds the site at its start: the first tests mostly wait for servers, and those of the site for the build.
 */
import { execFile } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { isNightly } from "@holdfast/testkit";
import { findChromium } from "@holdfast/testkit/find-chromium";
import { type BrowserServer, chromium } from "playwright-core";
import sirv from "sirv";
import type { TestProject } from "vitest/node";

const app = resolve(import.meta.dirname, "../..");
const root = resolve(app, "../..");
const dist = join(app, ".vitepress/dist");

declare module "vitest" {
  interface ProvidedContext {
    /** The origin at which the site is served. */
    readonly site: string;
  }
}

/** The path at which the server says where a test connects to the browser. */
export const browserPath = "/.browser";

/** Nightly, the pages that others read are written first. */
const isWholeRun = process.env.npm_lifecycle_event === "test" && !isNightly;

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

export default async function setup({ provide }: TestProject): Promise<() => Promise<void>> {
  const end = new AbortController();
  const built = (): Promise<Handler> => buildSite(end.signal).then(serveFiles);
  let files = isWholeRun ? built() : undefined;
  files?.catch(() => {}); // the tests report it
  let browser: Promise<BrowserServer> | undefined;

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.url === browserPath) {
      browser ??= startBrowser();
      response.end((await browser).wsEndpoint());
    } else {
      files ??= built();
      (await files)(request, response);
    }
  }

  const server = createServer((request, response) => {
    answer(request, response).catch((error: Error) => response.writeHead(500).end(error.message));
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  provide("site", `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  return async () => {
    end.abort();
    server.close();
    await (await browser)?.close();
  };
}

/** Builds the site as `pnpm site:build` does, or a small one, unless `SITE_BUILT` says that it is built. */
async function buildSite(signal: AbortSignal): Promise<void> {
  if (process.env.SITE_BUILT) return;
  // A production build, though vitest says that this is a test.
  const env = { ...process.env, NODE_ENV: "production", ...(!isNightly && { SITE_SMALL: "1" }) };
  const options = { env, signal, maxBuffer: 2 ** 24 };
  const run = promisify(execFile);
  if (isNightly) await run(join(root, "node_modules/.bin/tsx"), ["scripts/reference.ts"], { ...options, cwd: root });
  await run(join(app, "node_modules/.bin/vitepress"), ["build"], { ...options, cwd: app });
}

async function serveFiles(): Promise<Handler> {
  const notFound = await readFile(join(dist, "404.html"));
  const serve = sirv(dist);
  return (request, response) =>
    serve(request, response, () => {
      response.writeHead(404).end(notFound);
    });
}

async function startBrowser(): Promise<BrowserServer> {
  const executablePath = await findChromium();
  if (executablePath === undefined) throw new Error("Chromium is not installed: `pnpm test` installs it");
  return chromium.launchServer({ executablePath, host: "127.0.0.1" });
}
