import { isNightly } from "@holdfast/testkit";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { builtPages, builtSite, show, useBrowser } from "./support/site.ts";

const open = useBrowser();

/** How many pages load at the same time. */
const tabs = 3;

/** The faults of all pages: each entry begins with the page's route. */
interface Complaints {
  readonly errors: string[];
  readonly failedRequests: string[];
  readonly foreignRequests: string[];
  readonly tooWide: string[];
}

const none: Complaints = { errors: [], failedRequests: [], foreignRequests: [], tooWide: [] };

test("pages load without an error, a failed request or a foreign request, and fit into 360 pixels", async () => {
  const site = await builtSite();
  const context = await open({ viewport: { width: 360, height: 740 } });
  const routes = (await builtPages()).map(({ route }) => route).filter((route) => route !== "/404");
  expect(routes).toEqual(expect.arrayContaining(["/", "/guarantees", "/playground"]));
  if (isNightly) expect(routes.length).toBeGreaterThan(100);
  const complaints = structuredClone(none);
  const next = routes.values();
  const work = async () => {
    const tab = await context.newPage();
    watch(tab, site, complaints);
    // The tabs share this iterator: each takes the next page that no other has taken.
    for (const route of next) {
      await show(tab, route);
      if (await isTooWide(tab)) complaints.tooWide.push(route);
    }
  };
  await Promise.all(Array.from({ length: tabs }, work));
  expect(complaints).toEqual(none);
});

function watch(tab: Page, site: string, { errors, failedRequests, foreignRequests }: Complaints): void {
  const complain = (list: string[], text: string) => list.push(`${tab.url().replace(site, "")}: ${text}`);
  tab.on("pageerror", (error) => complain(errors, error.message));
  tab.on("console", (message) => {
    if (message.type() === "error") complain(errors, message.text());
  });
  tab.on("requestfailed", (request) => {
    // The browser aborts what it prefetches for a page that it leaves.
    const { errorText = "" } = request.failure() ?? {};
    if (errorText !== "net::ERR_ABORTED") complain(failedRequests, `${request.url()}: ${errorText}`);
  });
  tab.on("response", (response) => {
    if (response.status() >= 400) complain(failedRequests, `${response.url()}: ${response.status()}`);
  });
  tab.on("request", (request) => {
    if (new URL(request.url()).origin !== site) complain(foreignRequests, request.url());
  });
}

function isTooWide(tab: Page): Promise<boolean> {
  return tab.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth);
}
