import { isNightly } from "@holdfast/testkit";
import { expect, test } from "vitest";
import { show, useBrowser } from "./support/site.ts";

const open = useBrowser();

/** What readers type, and the page that they look for, or the symbol of the reference. */
const searches = {
  "fencing token": "/guarantees",
  waitTimeoutMs: "/reference/core/#lockoptions-waittimeoutms",
  pgbouncer: "/postgres/",
  "split vote": "/playground",
  LockLostError: "/reference/core/#locklosterror",
  semaphore: "/semaphore",
};

/** How many of the first results a reader looks at. */
const most = 6;

test.each(Object.entries(searches).slice(0, isNightly ? undefined : 2))(
  "search for %s leads to %s, by keyboard alone",
  async (words, target) => {
    const addressOf = ({ pathname, hash }: URL) => (target.includes("#") ? `${pathname}${hash}` : pathname);
    const tab = await (await open()).newPage();
    await show(tab, "/safety");
    await tab.keyboard.press("/");
    await tab.locator("#localsearch-input:focus").waitFor();
    await tab.keyboard.insertText(words);
    const selected = tab.locator("#localsearch-list .selected");
    await selected.waitFor();
    const seen: string[] = [];
    for (let looks = 0; looks < most && seen.at(-1) !== target; looks++) {
      if (looks > 0) await tab.keyboard.press("ArrowDown");
      const link = await selected.evaluate((element) => (element as HTMLAnchorElement).href);
      seen.push(addressOf(new URL(link)));
    }
    expect(seen).toContain(target);
    await tab.keyboard.press("Enter");
    await tab.waitForURL((url) => addressOf(url) === target);
  },
);
