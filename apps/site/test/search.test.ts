import { isNightly } from "@holdfast/testkit";
import { expect, test } from "vitest";
import { show, useBrowser } from "./support/site.ts";

const open = useBrowser();

/** What readers type, and the page that they look for. */
const searches = {
  "fencing token": "/guarantees",
  waitTimeoutMs: "/reference/core/LockOptions",
  pgbouncer: "/postgres/",
  "split vote": "/playground",
  LockLostError: "/reference/core/LockLostError",
  semaphore: "/semaphore",
};

/** How many of the first results a reader looks at. */
const most = 6;

test.each(Object.entries(searches).slice(0, isNightly ? undefined : 2))(
  "search for %s leads to %s, by keyboard alone",
  async (words, page) => {
    const tab = await (await open()).newPage();
    await show(tab, "/safety");
    await tab.keyboard.press("/");
    await tab.locator("#localsearch-input:focus").waitFor();
    await tab.keyboard.insertText(words);
    const selected = tab.locator("#localsearch-list .selected");
    await selected.waitFor();
    const seen: string[] = [];
    for (let looks = 0; looks < most && seen.at(-1) !== page; looks++) {
      if (looks > 0) await tab.keyboard.press("ArrowDown");
      seen.push(await selected.evaluate((link) => (link as HTMLAnchorElement).pathname));
    }
    expect(seen).toContain(page);
    await tab.keyboard.press("Enter");
    await tab.waitForURL((url) => url.pathname === page);
  },
);
