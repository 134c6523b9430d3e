/** What tests of the built site share: its pages, and tabs of a browser that show them. */
import { readdir, readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { afterAll, beforeAll, inject, onTestFinished } from "vitest";
import { browserPath } from "./setup.ts";

/** The folder of the built site. It is complete once the site has answered. */
export const dist: string = resolve(import.meta.dirname, "../../.vitepress/dist");

/** A width at which most phones show a page. */
export const phone: BrowserContextOptions = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true };
export const desktop: BrowserContextOptions = { viewport: { width: 1280, height: 800 } };

/** A page of the built site. */
export interface BuiltPage {
  /** Its path on the site, such as `/core/`. */
  readonly route: string;
  readonly html: string;
}

/** Returns the origin of the site, once it is built. */
export async function builtSite(): Promise<string> {
  const site = inject("site");
  const response = await fetch(site);
  if (!response.ok) throw new Error(`the site is not there: ${await response.text()}`);
  return site;
}

/** Reads every page of the built site. */
export async function builtPages(): Promise<BuiltPage[]> {
  const files = (await readdir(dist, { recursive: true })).filter((file) => file.endsWith(".html")).sort();
  return Promise.all(
    files.map(async (file) => ({
      route: `/${file.replace(/(^|\/)index\.html$/, "$1").replace(/\.html$/, "")}`,
      html: await readFile(join(dist, file), "utf8"),
    })),
  );
}

/** Opens a context, with storage and settings of its own, at the built site. */
type OpenContext = (options?: BrowserContextOptions) => Promise<BrowserContext>;

/** Connects the tests of a file to the browser. */
function connectBrowser(): OpenContext {
  let browser: Browser;
  let site: string;
  beforeAll(async () => {
    site = await builtSite();
    const endpoint = await fetch(`${site}${browserPath}`);
    if (!endpoint.ok) throw new Error(await endpoint.text());
    browser = await chromium.connect(await endpoint.text());
  });
  afterAll(() => browser?.close());
  return async (options = desktop) => {
    const context = await browser.newContext({ baseURL: site, ...options });
    // The site fetches pages ahead that its links lead to, unless the reader saves data.
    await context.addInitScript(() => Object.defineProperty(navigator, "connection", { value: { saveData: true } }));
    // The tests wait for states, which other tests beside them may delay.
    context.setDefaultTimeout(100_000);
    return context;
  };
}

/**
 * Connects the tests of a file to the browser.
 *
 * @returns a function that opens a context for the present test
 */
export function useBrowser(): OpenContext {
  const openContext = connectBrowser();
  return async (options) => {
    const context = await openContext(options);
    onTestFinished(() => context.close());
    return context;
  };
}

/** Returns one wide tab for all tests of a file, as loading a page takes longer than most of what they look at. */
export function useTab(): () => Page {
  const openContext = connectBrowser();
  let tab: Page;
  beforeAll(async () => {
    tab = await (await openContext()).newPage();
  });
  return () => tab;
}

/** Shows a page of the site, and waits until its scripts run. */
export async function show(tab: Page, route: string): Promise<void> {
  await tab.goto(route);
  await tab.waitForFunction(() => "__vue_app__" in (document.querySelector("#app") ?? {}));
}
