import type { Locator } from "playwright-core";
import { expect, test } from "vitest";
import { desktop, show, useBrowser } from "./support/site.ts";

const open = useBrowser();

/** Opens the first page, and returns its story before a reader has seen it. */
async function unseenStory(reducedMotion: "reduce" | "no-preference"): Promise<Locator> {
  const tab = await (await open({ ...desktop, reducedMotion })).newPage();
  const workers: unknown[] = [];
  tab.on("worker", (worker) => workers.push(worker));
  await show(tab, "/");
  await tab.waitForLoadState("networkidle");
  expect(workers).toEqual([]);
  return tab.locator("[data-live-story]");
}

test("the story on the first page plays when it is seen, until a reader pauses it", async () => {
  const story = await unseenStory("no-preference");
  await story.scrollIntoViewIfNeeded();
  await story.getByRole("button", { name: "Pause" }).click();
  const picture = story.locator(".picture");
  const stoppedAt = await picture.getAttribute("data-at-ms");
  await story.getByRole("button", { name: "Play", exact: true }).waitFor();
  expect(await picture.getAttribute("data-at-ms")).toBe(stoppedAt);
});

test("the story on the first page waits while it is out of sight", async () => {
  const story = await unseenStory("no-preference");
  await story.scrollIntoViewIfNeeded();
  await story.getByRole("button", { name: "Pause" }).waitFor();
  await story.page().evaluate(() => scrollTo(0, 0));
  await story.getByRole("button", { name: "Play", exact: true }).waitFor();
  await story.scrollIntoViewIfNeeded();
  await story.getByRole("button", { name: "Pause" }).waitFor();
});

test("the story on the first page stays at its end for readers who prefer less motion", async () => {
  const story = await unseenStory("reduce");
  await story.scrollIntoViewIfNeeded();
  await story.getByRole("button", { name: "Play again" }).waitFor();
  expect(await story.textContent()).toMatch(/the update of client 2 is lost\. With fencing, it is refused/);
});
