import { join } from "node:path";
import axe from "axe-core";
import type { BrowserContextOptions, Page } from "playwright-core";
import { expect, test } from "vitest";
import { desktop, phone, show, useBrowser } from "./support/site.ts";

/** A page of each kind, and what a reader has done there. */
const states: Readonly<Record<string, readonly [route: string, act?: (tab: Page) => Promise<void>]>> = {
  "first page": ["/"],
  "page of a package": ["/memory/"],
  guide: ["/semaphore"],
  "reference of a module": ["/reference/core/"],
  "source file": ["/source/packages/core/src/quorum-call-ts"],
  "source folder": ["/source/docs/decisions"],
  "page with wide tables": ["/evidence/chaos/"],
  "missing page": ["/404"],
  "playground in the middle of a story": ["/playground#story=pause&t=1200", openFaults],
  "playground at the end of a story": ["/playground#story=late-write-between", goToEnd],
  "playground at a wrong address": ["/playground#story=nonsense", (tab) => tab.getByRole("alert").waitFor()],
};

const widths: Readonly<Record<string, BrowserContextOptions>> = { wide: desktop, narrow: phone };

const opened = Object.keys(widths).flatMap((width) => Object.keys(states).map((state) => [width, state] as const));

const open = useBrowser();

test.each(opened)("on a %s screen, %s meets WCAG 2.1 AA in light and dark", async (screen, state) => {
  const [route, act] = states[state] ?? [`/no such state: ${state}`];
  // Without motion, colors change at once.
  const tab = await (await open({ ...widths[screen], reducedMotion: "reduce" })).newPage();
  await show(tab, route);
  await act?.(tab);
  const inLight = await violations(tab);
  await keepPicture(tab, `${state}, ${screen}, light`);
  await tab.emulateMedia({ colorScheme: "dark" });
  await tab.locator("html.dark").waitFor();
  const inDark = await violations(tab);
  await keepPicture(tab, `${state}, ${screen}, dark`);
  expect({ inLight, inDark }).toEqual({ inLight: [], inDark: [] });
});

async function openFaults(tab: Page): Promise<void> {
  await tab.locator('[data-faults-of="client 1"]').click();
  await tab.locator("[data-faults-panel]").waitFor();
}

async function goToEnd(tab: Page): Promise<void> {
  await tab.getByRole("button", { name: "To the end" }).click();
  await tab.locator("[data-outcome]").waitFor();
  await tab.evaluate(() => {
    for (const details of document.querySelectorAll<HTMLDetailsElement>("[data-playground] details"))
      details.open = true;
  });
}

/** Writes a screenshot into the folder that `SITE_SCREENSHOTS` names, if it does. */
async function keepPicture(tab: Page, name: string): Promise<void> {
  const folder = process.env.SITE_SCREENSHOTS;
  if (folder) await tab.screenshot({ path: join(folder, `${name}.png`), fullPage: true });
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
