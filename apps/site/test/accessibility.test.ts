import axe from "axe-core";
import type { BrowserContextOptions, Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { desktop, phone, show, useBrowser } from "./support/site.ts";

/** One page of each kind. */
const kinds = {
  "the first page": "/",
  "a page of a package": "/core/",
  "a guide": "/changing-servers",
  "a source file": "/source/packages/core/src/quorum-call-ts",
  "a source folder": "/source/docs/decisions",
  evidence: "/evidence/benchmark/",
  "a missing page": "/404",
};

const widths: Readonly<Record<string, BrowserContextOptions>> = { wide: desktop, narrow: phone };

const open = useBrowser();

describe.each(Object.entries(widths))("on a %s screen", (_, width) => {
  test.each(Object.entries(kinds))("%s meets WCAG 2.1 AA in light and dark", async (_, route) => {
    // Without motion, colours change at once.
    const tab = await (await open({ ...width, reducedMotion: "reduce" })).newPage();
    await show(tab, route);
    expect(await violations(tab)).toEqual([]);
    await darken(tab);
    expect(await violations(tab)).toEqual([]);
  });
});

async function darken(tab: Page): Promise<void> {
  await tab.emulateMedia({ colorScheme: "dark" });
  await tab.locator("html.dark").waitFor();
}

/** Returns what axe finds wrong with the page that a tab shows. */
async function violations(tab: Page): Promise<string[]> {
  await tab.evaluate(axe.source);
  const result = await tab.evaluate(() =>
    window.axe.run({ runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"], resultTypes: ["violations"] }),
  );
  return result.violations.flatMap(({ id, nodes }) =>
    nodes.map(({ target, failureSummary }) => `${id}: ${target.join(" ")}: ${failureSummary}`),
  );
}

declare global {
  interface Window {
    readonly axe: typeof axe;
  }
}
