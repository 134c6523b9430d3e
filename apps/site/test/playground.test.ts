import { isNightly } from "@holdfast/testkit";
import type { BrowserContextOptions, Locator, Page } from "playwright-core";
import { beforeAll, describe, expect, test } from "vitest";
import { lossOf } from "../src/playground/cards.ts";
import { momentAt } from "../src/playground/moment.ts";
import { outcomeOf } from "../src/playground/outcome.ts";
import { storyTexts } from "../src/playground/story-texts.ts";
import { runOf } from "./support/runs.ts";
import { desktop, phone, show, useBrowser, useTab } from "./support/site.ts";

const open = useBrowser();
const shared = useTab();

beforeAll(() => show(shared(), "/playground"));

/** Opens the playground in a context of its own, whose time passes only when the test lets it. */
async function openWithClock(options?: BrowserContextOptions): Promise<Page> {
  const tab = await (await open(options)).newPage();
  await tab.clock.install();
  await show(tab, "/playground");
  await ready(tab);
  await tab.clock.pauseAt(Date.now() + 3_600_000);
  return tab;
}

/** Shows another address in the shared tab. */
async function go(hash: string): Promise<Page> {
  const tab = shared();
  await enter(tab, hash);
  await ready(tab);
  return tab;
}

/** Enters another address, and waits until the page has begun to follow it. */
async function enter(tab: Page, hash: string): Promise<void> {
  await tab.evaluate(
    (wanted) =>
      new Promise<void>((resolve) => {
        if (location.hash === wanted) resolve();
        window.addEventListener("hashchange", () => setTimeout(resolve), { once: true });
        location.hash = wanted;
      }),
    hash,
  );
}

function ready(tab: Page): Promise<void> {
  return tab.locator("[data-playground][data-state=ready]").waitFor();
}

function button(tab: Page, name: string): Locator {
  return tab.getByRole("button", { name, exact: true });
}

async function choose(tab: Page, story: string): Promise<void> {
  await tab.locator("[data-stories]").selectOption(story);
  await ready(tab);
}

/** Everything that the picture says. */
function pictureOn(tab: Page): Promise<string | null> {
  return tab.locator(".picture").textContent();
}

function momentOn(tab: Page): Promise<number> {
  return tab.locator("[data-now]").getAttribute("data-now").then(Number);
}

/** Adds a fault at the cursor by the buttons of the page. */
async function addFault(tab: Page, target: string, action: string): Promise<void> {
  await tab.locator(`[data-faults-of="${target}"]`).click();
  await tab.locator(`[data-faults-panel="${target}"] [data-action=${action}]`).click();
  await ready(tab);
}

/** Collects the different texts that an element has from now on. */
async function collectTexts(tab: Page, selector: string): Promise<() => Promise<string[]>> {
  const name = `texts of ${selector}`;
  await tab.locator(selector).evaluate((element, key) => {
    const texts: string[] = [];
    Object.assign(window, { [key]: texts });
    const note = (): void => {
      const text = element.textContent?.trim() ?? "";
      if (texts.at(-1) !== text) texts.push(text);
    };
    new MutationObserver(note).observe(element, { characterData: true, childList: true, subtree: true });
  }, name);
  return () => tab.evaluate((key) => (window as unknown as Record<string, string[]>)[key] ?? [], name);
}

/** Lets frames of a tenth of a second pass, which is the longest step of a run that plays. */
async function passSeconds(tab: Page, seconds: number): Promise<void> {
  for (let frames = 0; frames < 10 * seconds; frames++) await tab.clock.fastForward(100);
}

const wholePicture = ["[data-caption]", "[data-node]", "[data-client]", "[data-storage]", "[data-play]"];

/** What of the picture a reader does not see whole without scrolling. */
function hiddenOf(tab: Page): Promise<string[]> {
  return tab.evaluate(
    (selectors) =>
      [...document.querySelectorAll(selectors.join())]
        .filter((element) => {
          const { left, top, right, bottom } = element.getBoundingClientRect();
          const navigation = document.querySelector(".VPNav")?.getBoundingClientRect().bottom ?? 0;
          return top < Math.max(0, navigation) || left < 0 || right > innerWidth || bottom > innerHeight;
        })
        .map((element) => element.outerHTML.slice(0, 80)),
    wholePicture,
  );
}

describe("first visit", () => {
  test.each(Object.entries(isNightly ? { "1280 × 800": desktop, "a phone": phone } : { "a phone": phone }))(
    "on %s tells in twenty seconds that a late write is lost without fencing, and refused with it",
    async (_, size) => {
      const tab = await openWithClock(size);
      expect(await tab.locator("[data-client]").count()).toBe(2);
      expect(await tab.locator("[data-storage]").count()).toBe(2);
      expect(await hiddenOf(tab)).toEqual([]);
      const captions = await collectTexts(tab, "[data-caption]");
      const said = await collectTexts(tab, "[data-said]");

      await tab.evaluate(() => scrollTo({ top: 300, behavior: "instant" }));
      await tab.locator("[data-play]").click();
      await passSeconds(tab, 13);
      expect(await tab.locator("[data-caption]").textContent()).toBe("Client 2 gets the lock, too, with token 2.");
      await expect.poll(() => hiddenOf(tab)).toEqual([]);
      await passSeconds(tab, 7);
      await expect.poll(() => hiddenOf(tab)).toEqual([]);
      const paused = /^Client 1 is paused\. Its lock expires in [1-8]\d\d ms\.$/;
      expect(await captions()).toContainEqual(expect.stringMatching(paused));
      const end =
        "The late write of client 1 arrives. Without fencing, the update of client 2 is lost. " +
        "With fencing, it is refused: its token 1 is older than 2.";
      expect(await tab.locator("[data-caption]").textContent()).toBe(end);
      // Each sentence is said once, not each time that its number changes.
      expect(await said()).toHaveLength(9);
      expect((await said()).at(-1)).toBe(end);
      expect(await tab.locator("[data-play]").textContent()).toBe("Play");
    },
  );

  test("moves from sentence to sentence for readers who prefer less motion", async () => {
    const tab = await openWithClock({ ...desktop, reducedMotion: "reduce" });
    const { captions, trace } = await runOf("");
    const moments = await collectTexts(tab, "[data-now]");
    await tab.locator("[data-play]").click();
    await tab.clock.runFor(20_000);
    expect(await moments()).toHaveLength(captions.length + 1);
    expect(await momentOn(tab)).toBe(trace.endedAtMs);
  });
});

describe("story", () => {
  // Without a browser, other tests check all stories and their captions.
  test.each(storyTexts.slice(0, isNightly ? undefined : 1))("$id ends in the browser as in Node.js", async ({ id }) => {
    const run = await runOf(`#story=${id}`);
    const { trace } = run;
    const tab = await go("#story=rolling-restart");
    await choose(tab, id);
    await button(tab, "To the end").click();

    expect(await tab.locator("[data-outcome]").textContent()).toContain(outcomeOf(run));
    const losses = momentAt(trace, trace.endedAtMs).storages.map(lossOf);
    expect(await tab.locator("[data-storage] .verdict").allTextContents()).toEqual(
      losses.map((loss) => expect.stringContaining(loss)),
    );
    expect(await momentOn(tab)).toBe(trace.endedAtMs);
  });
});

describe("address", () => {
  test("shows the same moment of the same run again", async () => {
    const tab = await go("#story=late-write&t=30");
    await addFault(tab, "C", "crash");
    await expect.poll(() => new URL(tab.url()).hash).toMatch(/^#story=late-write&do=crash\+C\+30&t=30$/);
    const [atMs, picture] = [await momentOn(tab), await pictureOn(tab)];
    await tab.reload();
    await ready(tab);
    expect(await momentOn(tab)).toBe(atMs);
    expect(await pictureOn(tab)).toBe(picture);
    expect(await tab.locator("[data-fault=added]").count()).toBe(1);
  });

  test("goes back and forward through the runs that were shown", async () => {
    const tab = await go("#story=pause");
    await choose(tab, "restart");
    await choose(tab, "split-vote");
    const shows = (story: string) => expect.poll(() => tab.locator("[data-stories]").inputValue()).toBe(story);
    await tab.goBack();
    await shows("restart");
    await tab.goBack();
    await shows("pause");
    await tab.goForward();
    await shows("restart");
  });

  // What else can be wrong is checked without a browser.
  test("that is wrong is explained, and leads on to the first story", async () => {
    const tab = shared();
    await enter(tab, "#story=nonsense");
    expect(await tab.getByRole("alert").textContent()).toContain('there is no story "nonsense"');
    await button(tab, "Open the first story").click();
    await ready(tab);
    expect(await tab.getByRole("alert").count()).toBe(0);
  });

  test("that is wrong stays as it is while a run played before, and going back shows the run again", async () => {
    const tab = await openWithClock();
    await tab.locator("[data-play]").click();
    await tab.clock.fastForward(100);
    await tab.evaluate(() => {
      location.hash = "#story=nonsense";
    });
    await tab.locator("[data-playground][data-state=failed]").waitFor();
    await tab.clock.fastForward(10_000);
    expect(new URL(tab.url()).hash).toBe("#story=nonsense");
    await tab.goBack();
    await ready(tab);
    expect(await tab.locator("[data-stories]").inputValue()).toBe("pause");
  });
});

test("time that runs while the reader leaves does not change the address of the next page, and back leads to the run", async () => {
  const tab = await openWithClock();
  let release = (): void => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  await tab.route(/guarantees\.md.*\.js$/, (route) => held.then(() => route.continue()));
  await tab.locator("[data-play]").click();
  await tab.clock.fastForward(100);
  await tab.locator(".VPNavBarMenuLink[href='/guarantees']").click();
  await tab.waitForURL(/guarantees/);
  await tab.clock.fastForward(10_000);
  release();
  await tab.locator(".vp-doc h1").waitFor();
  expect(new URL(tab.url()).hash).toBe("");
  await tab.goBack();
  await ready(tab);
});

test("a simulation that could not be loaded is loaded again by the next run", async () => {
  const tab = shared();
  await tab.route(/assets\/worker/, (route) => route.abort(), { times: 1 });
  await tab.goto("about:blank");
  await show(tab, "/playground");
  expect(await tab.locator("[data-error] p").textContent()).toMatch(/^The run failed: .*\.$/);
  await button(tab, "Open the first story").click();
  await ready(tab);
  expect(await tab.locator("[data-play]").isEnabled()).toBe(true);
});

test("the picture draws links to each storage, when the next run has one more", async () => {
  const tab = await go("#story=late-write");
  expect(await tab.locator("[data-storage]").count()).toBe(2);
  await choose(tab, "late-write-between");
  expect(await tab.locator("[data-storage]").count()).toBe(3);
  await expect.poll(() => tab.locator(".traffic .link line[x2='0'][y2='0']").count()).toBe(0);
});

test("the names of the timeline are beside their lanes", async () => {
  const tab = await go("#story=pause");
  const heightOf = (selector: string): Promise<number> =>
    tab.locator(selector).evaluate((element) => element.getBoundingClientRect().height);
  expect(await heightOf(".timeline .lanes")).toBe(await heightOf(".timeline .paper"));
});

describe("fault by hand", () => {
  test("is impossible when the run has ended", async () => {
    const tab = await go("#story=pause&t=80000");
    await tab.locator("[data-faults-of=A]").click();
    expect(await tab.locator("[data-faults-panel] [data-action]:enabled").count()).toBe(0);
    expect(await tab.locator("[data-faults-panel] [data-note]").textContent()).toMatch(/has ended/);
  });

  // That it changes nothing before it strikes is checked without a browser.
  test("strikes at the cursor, and can be removed", async () => {
    const tab = await go("#story=free&t=40");
    const node = tab.locator("[data-node=C] [data-state]");
    expect(await node.getAttribute("data-state")).toBe("up");
    await addFault(tab, "C", "crash");
    expect(await momentOn(tab)).toBe(40);
    expect(await node.getAttribute("data-state")).toBe("down");
    await tab.locator("[data-fault=added]").getByRole("button", { name: "Remove" }).click();
    await ready(tab);
    expect(await momentOn(tab)).toBe(40);
    expect(await node.getAttribute("data-state")).toBe("up");
  });
});

test.each(isNightly ? [390, 640, 1280] : [390])(
  "the clock can be pressed at the end of a page %d px wide",
  async (width) => {
    const tab = await go("#story=pause");
    await tab.setViewportSize({ width, height: 500 });
    await tab.evaluate(() => scrollTo(0, document.body.scrollHeight));
    await tab.waitForFunction(() => {
      const play = document.querySelector("[data-play]");
      const { left = 0, top = 0 } = play?.getBoundingClientRect() ?? {};
      return document.elementFromPoint(left + 8, top + 8) === play;
    });
    await tab.setViewportSize(desktop.viewport ?? { width, height: 800 });
  },
);

describe("without a mouse", () => {
  // The next test shows that the focus gets to each button, which a key presses as a click does.
  test("the slider of the clock steps through a story, and the picture is said", async () => {
    const tab = await go("#story=restart");
    await tab.locator("input[aria-label=Moment]").focus();
    for (let steps = 0; steps < 3; steps++) await tab.keyboard.press("ArrowRight");
    expect(await momentOn(tab)).toBeGreaterThan(0);
    expect(await tab.locator("[data-said]").textContent()).toMatch(/^At .* milliseconds/);
    await tab.keyboard.press("End");
    expect(await tab.locator("[data-outcome]").count()).toBe(1);
  });

  test("the focus goes through everything, is seen, and comes out at the end", async () => {
    const tab = await go("#story=pause");
    await tab.reload();
    await ready(tab);
    const seen = new Set<string>();
    for (let presses = 0; presses < mostPresses; presses++) {
      await tab.keyboard.press("Tab");
      const focus = await focusOn(tab);
      if (focus === undefined || seen.has(focus.path)) break;
      expect(focus.isSeen, `the focus on ${focus.path} is seen`).toBe(true);
      seen.add(focus.path);
    }
    const reachable = await tab
      .locator("[data-playground]")
      .evaluate((root) =>
        [...root.querySelectorAll<HTMLElement>("a, button, input, select, summary, [tabindex]")]
          .filter((element) => element.tabIndex >= 0 && !element.matches(":disabled") && element.checkVisibility())
          .map((element) => element.outerHTML.slice(0, 200)),
      );
    expect(reachable.length).toBeGreaterThan(15);
    expect([...seen]).toEqual(expect.arrayContaining(reachable));
  });
});

/** More than the number of elements that can have the focus. */
const mostPresses = 200;

/** Returns the element with the focus, and whether a reader sees that it has it; undefined outside the page. */
function focusOn(tab: Page): Promise<{ readonly path: string; readonly isSeen: boolean } | undefined> {
  return tab.evaluate(() => {
    const element = document.activeElement;
    if (element === null || element === document.body) return undefined;
    const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(element);
    const isMarked = (outlineStyle !== "none" && Number.parseFloat(outlineWidth) > 0) || boxShadow !== "none";
    const { top, bottom, left, right, width, height } = element.getBoundingClientRect();
    const isOnScreen = bottom > 0 && top < innerHeight && right > 0 && left < innerWidth && width * height > 0;
    return { path: element.outerHTML.slice(0, 200), isSeen: isMarked && isOnScreen };
  });
}
