import { readFile } from "node:fs/promises";
import { extname, join } from "node:path";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { builtSite, dist, show, useBrowser } from "./support/site.ts";

const open = useBrowser();

/** Pages, what they show when they are ready, and a file that each of them loads. */
const pages = [
  { route: "/playground", shows: "[data-playground][data-state=ready]", loads: "/assets/worker" },
  { route: "/", shows: ".vp-doc", loads: "/assets/index.md" },
  { route: "/guarantees", shows: ".vp-doc", loads: "/assets/guarantees.md" },
];

test.each(pages)("$route, with all that it loads, is below 150 kB, gzipped", async ({ route, shows, loads }) => {
  const files = await filesOf(route, shows);
  const weights = await Promise.all(files.map(weightOf));
  const list = files.map((file, index) => `${file}: ${weights[index]}`).join("\n");
  expect(list).toContain(loads);
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  expect(total, `the bytes of\n${list}\n`).toBeLessThan(150_000);
});

/** Returns the files that a page has loaded when it shows an element. */
async function filesOf(route: string, element: string): Promise<string[]> {
  const site = await builtSite();
  const tab = await (await open()).newPage();
  const files = new Set<string>();
  tab.on("request", (request) => files.add(request.url().replace(site, "")));
  await show(tab, route);
  await tab.locator(element).first().waitFor();
  await tab.waitForLoadState("networkidle");
  return [...files];
}

async function weightOf(file: string): Promise<number> {
  const path = file.endsWith("/") ? `${file}index.html` : extname(file) === "" ? `${file}.html` : file;
  return gzipSync(await readFile(join(dist, path))).length;
}
