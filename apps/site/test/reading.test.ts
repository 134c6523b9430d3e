import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";
import { builtPages, builtSite, dist } from "./support/site.ts";

const root = resolve(import.meta.dirname, "../../..");

/** How many letters of code fit beside the outline of a page, on a screen of 1280 pixels. */
const columns = 94;

test.each(["apps/site/pages/index.md", "docs/start.md", "packages/core/README.md"])(
  "code of %s fits its column, but for a command that starts servers",
  async (page) => {
    const blocks = (await readFile(join(root, page), "utf8")).match(/^```[\s\S]*?^```/gm) ?? [];
    const lines = blocks.flatMap((block) => block.split("\n"));
    expect(lines.length).toBeGreaterThan(20);
    expect(lines.filter((line) => line.length > columns && !line.startsWith("for port in"))).toEqual([]);
  },
);

test("each page has a description and a picture for links to it", async () => {
  await builtSite();
  for (const { route, html } of await builtPages()) {
    const [, picture = ""] = /<meta property="og:image" content="([^"]+)"/.exec(html) ?? [];
    const { pathname } = new URL(picture, "http://the.site");
    expect((await readFile(join(dist, pathname))).subarray(1, 4).toString(), route).toBe("PNG");
    if (route !== "/404") expect(html, route).toMatch(/<meta name="description" content="[^"]+"/);
  }
});
