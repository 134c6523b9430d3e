import { resolve } from "node:path";
import { isNightly, runProgram } from "@holdfast/testkit";
import type { Locator, Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { readAddress } from "../src/playground/address.ts";
import { momentAt } from "../src/playground/moment.ts";
import { outcomeOf } from "../src/playground/outcome.ts";
import { stories } from "../src/playground/stories.ts";
import { type PlayedRun, play } from "../src/playground/worker.ts";
import { show, useBrowser } from "./support/site.ts";

const open = useBrowser();

/** Opens the playground at an address, and waits for its run. With a clock, the test can let time of the page pass. */
async function openPlayground(hash = "", { hasClock = false } = {}): Promise<Page> {
  const tab = await (await open()).newPage();
  if (hasClock) await tab.clock.install();
  await show(tab, `/playground${hash}`);
  await ready(tab);
  return tab;
}

function ready(tab: Page): Promise<void> {
  return tab.locator("[data-playground][data-state=ready]").waitFor();
}

function button(tab: Page, name: string): Locator {
  return tab.getByRole("button", { name, exact: true });
}

/** Simulates the run of an address in this process. */
async function runOf(hash: string): Promise<PlayedRun> {
  const address = readAddress(hash);
  if ("error" in address) throw new Error(address.error);
  const reply = await play({ id: 0, ...address });
  if ("error" in reply) throw new Error(reply.error);
  return reply.run;
}

/** What the page counts for each storage that it shows. */
async function storagesOn(tab: Page): Promise<unknown> {
  return tab.locator("[data-storage]").evaluateAll((cards) =>
    cards.map((card) => {
      const { storage, lost, refused, accepted } = (card as HTMLElement).dataset;
      return { kind: storage, lostUpdates: Number(lost), refusals: Number(refused), updates: Number(accepted) };
    }),
  );
}

/** Everything that the picture says. */
function pictureOn(tab: Page): Promise<string | null> {
  return tab.locator(".picture").textContent();
}

/** Steps by keys, which costs less than clicking. */
async function stepForward(tab: Page, times: number): Promise<void> {
  await tab.getByLabel("Moment").focus();
  for (let steps = 0; steps < times; steps++) await tab.keyboard.press("ArrowRight");
}

/** Steps forward until the page shows something. */
async function stepUntil(tab: Page, shown: Locator): Promise<void> {
  const most = 200;
  for (let steps = 0; steps < most && (await shown.count()) === 0; steps++) await stepForward(tab, 1);
}

function momentOn(tab: Page): Promise<number> {
  return tab.locator("[data-now]").getAttribute("data-now").then(Number);
}

describe("story", () => {
  test.each(stories.slice(0, isNightly ? undefined : 1))(
    "$id ends in the browser as it says, and as in Node.js",
    async ({ id, end }) => {
      const run = await runOf(`#story=${id}`);
      const { trace } = run;
      const tab = await openPlayground();
      await tab.locator(`[data-story="${id}"]`).click();
      await ready(tab);
      await button(tab, "To the end").click();

      expect(await tab.locator("[data-outcome]").textContent()).toContain(outcomeOf(run));
      const counts = momentAt(trace, trace.endedAtMs).storages.map(({ kind, lostUpdates, refusals, updates }) => {
        return { kind, lostUpdates, refusals, updates };
      });
      const seen = await storagesOn(tab);
      expect(counts).toEqual(expect.arrayContaining(seen as unknown[]));
      for (const kind of ["checks all", "checks nothing"] as const) {
        const lost = end.losers.includes(kind) ? expect.any(Number) : 0;
        expect(seen).toContainEqual(expect.objectContaining({ kind, lostUpdates: lost }));
      }
      expect(await momentOn(tab)).toBe(trace.endedAtMs);
    },
  );
});

test("a seed shows the violations that pnpm simulate prints", async () => {
  const seed = await firstBrokenSeed();
  const simulate = await runProgram("src/main.ts", ["--faults", "lock-breaking", "--seed", `${seed}`], {
    cwd: resolve(import.meta.dirname, "../../simulate"),
  });
  const [, printed] = /^Seed \d+ breaks: (.*?)\. /m.exec(simulate.out) ?? [];

  const tab = await openPlayground();
  await tab.getByText("A seed: ").click();
  const form = tab.locator("[data-seed-form]");
  await form.getByLabel("Faults").selectOption("lock-breaking");
  await form.getByLabel("Seed", { exact: true }).fill(`${seed}`);
  await button(tab, "Open the seed").click();
  await ready(tab);
  const shown = tab.locator("[data-violation]");
  const checkers = await shown.evaluateAll((items) => items.map((item) => item.getAttribute("data-violation")));
  expect([...new Set(checkers)].join(", ")).toBe(printed);
  const { violations } = await runOf(`#lock-breaking=${seed}`);
  expect(await shown.allTextContents()).toEqual(violations.map(({ what }) => expect.stringContaining(what)));
  await expect.poll(() => new URL(tab.url()).hash).toBe(`#lock-breaking=${seed}`);
});

/** Faults of this class may break mutual exclusion, and do in about one world of seven. */
async function firstBrokenSeed(): Promise<number> {
  for (let seed = 1; seed <= 200; seed++) {
    if ((await runOf(`#lock-breaking=${seed}`)).violations.length > 0) return seed;
  }
  throw new Error("no seed breaks mutual exclusion");
}

describe("address", () => {
  test("shows the same moment of the same run in another browser", async () => {
    const tab = await openPlayground("#story=late-write");
    await stepForward(tab, 7);
    await tab.locator("[data-faults-of=C]").click();
    await tab.locator("[data-faults-panel=C] [data-action=crash]").click();
    await ready(tab);
    await expect.poll(() => new URL(tab.url()).hash).toMatch(/^#story=late-write&do=crash:C.*&t=/);
    const other = await openPlayground(new URL(tab.url()).hash);
    expect(await momentOn(other)).toBe(await momentOn(tab));
    expect(await pictureOn(other)).toBe(await pictureOn(tab));
    expect(await other.locator("[data-added-faults] li").count()).toBe(1);
  });

  test("goes back and forward through the runs that were shown", async () => {
    const tab = await openPlayground("#story=pause");
    await tab.locator("[data-story=restart]").click();
    await ready(tab);
    await tab.locator("[data-story=split-vote]").click();
    await ready(tab);
    const shown = tab.locator("[data-story][aria-pressed=true]");
    const shows = (story: string) => expect.poll(() => shown.getAttribute("data-story")).toBe(story);
    await tab.goBack();
    await shows("restart");
    await tab.goBack();
    await shows("pause");
    await tab.goForward();
    await shows("restart");
  });

  test.each([
    "#story=unknown",
    "#nonsense",
    "#lock-breaking=four",
    "#play=nodes:99",
    "#story=pause&do=explode:C:1",
    "#story=pause&t=soon",
    "#%E0%A4%A",
  ])("that is wrong, as %s, is explained, and leads on to the first story", async (hash) => {
    const tab = await (await open()).newPage();
    await show(tab, `/playground${hash}`);
    expect(await tab.getByRole("alert").textContent()).toContain("The address is wrong");
    await button(tab, "Open the first story").click();
    await ready(tab);
    expect(await tab.getByRole("alert").count()).toBe(0);
  });
});

test("links of the playground lead to other pages, and back leads to the same moment", async () => {
  const tab = await openPlayground("#story=pause");
  await button(tab, "To the end").click();
  await expect.poll(() => new URL(tab.url()).hash).toMatch(/&t=/);
  const { hash } = new URL(tab.url());
  await tab.locator(".VPNavBarMenuLink[href='/guarantees']").click();
  await tab.locator(".vp-doc h1").waitFor();
  expect(new URL(tab.url()).pathname).toBe("/guarantees");
  await tab.goBack();
  await tab.locator("[data-outcome]").waitFor();
  expect(new URL(tab.url()).hash).toBe(hash);
});

describe("address that cannot be read", () => {
  const failed = "[data-playground][data-state=failed]";
  const enter = (tab: Page, hash: string): Promise<void> =>
    tab.evaluate((wanted) => {
      location.hash = wanted;
    }, hash);

  test("stays as it is while a run played before, and going back shows the run again", async () => {
    const tab = await openPlayground("#story=pause", { hasClock: true });
    await tab.locator("[data-play]").click();
    await enter(tab, "#story=nonsense");
    await tab.locator(failed).waitFor();
    await tab.clock.fastForward(10_000);
    expect(new URL(tab.url()).hash).toBe("#story=nonsense");
    await tab.goBack();
    await ready(tab);
    expect(await tab.locator("[data-story=pause]").getAttribute("aria-pressed")).toBe("true");
  });
});

test("time that runs while the reader leaves does not change the address of the next page", async () => {
  const tab = await openPlayground("#story=pause", { hasClock: true });
  let release = (): void => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  await tab.route(/guarantees\.md.*\.js$/, (route) => held.then(() => route.continue()));
  await tab.locator("[data-play]").click();
  await tab.locator(".VPNavBarMenuLink[href='/guarantees']").click();
  await tab.waitForURL(/guarantees/);
  await tab.clock.fastForward(10_000);
  release();
  await tab.locator(".vp-doc h1").waitFor();
  expect(new URL(tab.url()).hash).toBe("");
});

test("a simulation that could not be loaded is loaded again by the next run", async () => {
  const tab = await (await open()).newPage();
  await tab.route(/assets\/worker/, (route) => route.abort(), { times: 1 });
  await show(tab, "/playground");
  expect(await tab.locator("[data-error] p").textContent()).toMatch(/^The run failed: .*\.$/);
  await button(tab, "Open the first story").click();
  await ready(tab);
  expect(await tab.locator("[data-play]").isEnabled()).toBe(true);
});

describe("picture", () => {
  test("draws links to each storage, when the next run has one more", async () => {
    const tab = await openPlayground("#story=late-write");
    expect(await tab.locator("[data-storage]").count()).toBe(2);
    await tab.locator("[data-story=late-write-between]").click();
    await ready(tab);
    expect(await tab.locator("[data-storage]").count()).toBe(3);
    await expect.poll(() => tab.locator(".traffic .link line[x2='0'][y2='0']").count()).toBe(0);
  });

  test("draws no message of the operator, who has no card", async () => {
    const { trace } = await runOf("#healed=3");
    const sent = trace.messages.find(({ from }) => from === "operator");
    const atMs = ((sent?.sentAtMs ?? 0) + (sent?.arrivesAtMs ?? 0)) / 2;
    const tab = await openPlayground(`#healed=3&t=${atMs.toFixed(3)}`);
    expect(momentAt(trace, await momentOn(tab)).messages.map(({ from }) => from)).toContain("operator");
    await tab.locator(".traffic .link").first().waitFor();
    expect(await tab.locator(".traffic .dot", { hasText: "raise floor" }).count()).toBe(0);
  });

  test("shows the claims of a client that has no lock, or has crashed", async () => {
    const truth = (tab: Page): Promise<string | null> =>
      tab.locator("[data-client='client 1'] [data-truth]").textContent();
    expect(await truth(await openPlayground("#story=lost-reply&t=3"))).toBe("claim on 5 of 5 nodes");
    expect(await truth(await openPlayground("#play=&do=kill:1:50&t=80"))).toBe("claim on 3 of 5 nodes");
  });

  test("keeps the words of ten nodes in one line each", async () => {
    const tab = await openPlayground("#changing=3&t=61000");
    const heights = await tab
      .locator("[data-counter]")
      .evaluateAll((items) => items.map((item) => item.getBoundingClientRect().height));
    expect(heights).toHaveLength(10);
    expect(Math.max(...heights)).toBeLessThan(40);
  });
});

test("the moment is in no live region, which would be read aloud at each frame", async () => {
  const tab = await openPlayground();
  const regions = "output, [role=status], [role=alert], [aria-live]";
  expect(await tab.locator("[data-now]").evaluate((now, seen) => now.closest(seen), regions)).toBeNull();
});

describe("fault by hand", () => {
  test("is impossible when the run has ended", async () => {
    const tab = await openPlayground("#story=pause&t=80000");
    await tab.locator("[data-faults-of=A]").click();
    expect(await tab.locator("[data-faults-panel] [data-action]:enabled").count()).toBe(0);
    expect(await tab.locator("[data-faults-panel] [data-note]").textContent()).toMatch(/has ended/);
  });

  test("is impossible if the address could not name it", async () => {
    const faults = Array.from({ length: 30 }, (_, index) => `clock:A:${100 + index}:5`);
    const tab = await openPlayground(`#play=&do=${faults.join(",")}&t=200`);
    await tab.locator("[data-faults-of=C]").click();
    expect(await tab.locator("[data-faults-panel] [data-action]:enabled").count()).toBe(0);
    await tab.locator("[data-added-faults]").getByRole("button", { name: "Remove" }).first().click();
    await ready(tab);
    await tab.locator("[data-faults-panel] [data-action=crash]").click();
    await ready(tab);
    expect(await tab.locator("[data-added-faults] li").count()).toBe(30);
  });

  test("strikes at the cursor, changes nothing before it, and can be removed", async () => {
    const tab = await openPlayground("#play=");
    const node = tab.locator("[data-node=C] [data-state]");
    const steps = 12;
    await stepForward(tab, steps - 1);
    const before = await pictureOn(tab);
    await stepForward(tab, 1);
    const atMs = await momentOn(tab);
    expect(await node.getAttribute("data-state")).toBe("up");

    await tab.locator("[data-faults-of=C]").click();
    await tab.locator("[data-faults-panel=C] [data-action=crash]").click();
    await ready(tab);
    expect(await momentOn(tab)).toBeCloseTo(atMs, 3);
    expect(await node.getAttribute("data-state")).toBe("down");
    await button(tab, "To the start").click();
    await stepForward(tab, steps - 1);
    expect(await pictureOn(tab)).toBe(before);

    await tab.locator("[data-added-faults]").getByRole("button", { name: "Remove" }).click();
    await ready(tab);
    await stepForward(tab, 2);
    expect(await node.getAttribute("data-state")).toBe("up");
  });

  test("pauses a client until its lock has expired: it believes to hold it, and does not", async () => {
    const tab = await openPlayground("#play=clients:2,ttl:500");
    const client = tab.locator('[data-client][data-wrong]:has([data-believes="holds"])').first();
    await stepUntil(tab, client);
    const name = await client.getAttribute("data-client");
    await tab.locator(`[data-faults-of="${name}"]`).click();
    await tab.locator("[data-faults-panel] [data-action=pause-before-acting]").click();
    await ready(tab);
    const wrong = tab.locator(`[data-client="${name}"][data-wrong=true]`);
    await stepUntil(tab, wrong);
    expect(await wrong.textContent()).toMatch(/holds/);
  });
});

test.each(isNightly ? [390, 640, 1280] : [390])(
  "the clock can be pressed at the end of a page %d px wide",
  async (width) => {
    const tab = await (await open({ viewport: { width, height: 500 } })).newPage();
    await show(tab, "/playground");
    await ready(tab);
    await tab.evaluate(() => scrollTo(0, document.body.scrollHeight));
    await tab.waitForFunction(() => {
      const play = document.querySelector("[data-play]");
      const { left = 0, top = 0 } = play?.getBoundingClientRect() ?? {};
      return document.elementFromPoint(left + 8, top + 8) === play;
    });
  },
);

describe("without a mouse", () => {
  test("a story is chosen, played, stepped, and struck by a fault", async () => {
    const tab = await openPlayground();
    await tabTo(tab, "[data-story=restart]");
    await tab.keyboard.press("Enter");
    await ready(tab);
    expect(await tab.locator("[data-story=restart]").getAttribute("aria-pressed")).toBe("true");

    await tabTo(tab, "[data-play]");
    await tab.keyboard.press("Space");
    await expect.poll(() => momentOn(tab)).toBeGreaterThan(0);
    await tab.keyboard.press("Space");
    expect(await tab.locator("[data-play]").textContent()).toBe("Play");

    await tabTo(tab, "input[aria-label=Moment]");
    await tab.keyboard.press("Home");
    expect(await momentOn(tab)).toBe(0);
    for (let steps = 0; steps < 5; steps++) await tab.keyboard.press("ArrowRight");
    expect(await momentOn(tab)).toBeGreaterThan(0);
    expect(await tab.locator("[data-said]").textContent()).toMatch(/^At .* milliseconds/);

    await tabTo(tab, "[data-faults-of=A]");
    await tab.keyboard.press("Enter");
    await tabTo(tab, "[data-faults-panel=A] [data-action=crash]");
    await tab.keyboard.press("Enter");
    await ready(tab);
    expect(await tab.locator("[data-added-faults] li").count()).toBe(1);
    expect(await tab.locator("[data-node=A] [data-state]").getAttribute("data-state")).toBe("down");

    await tabTo(tab, "[data-timeline]");
    await tab.keyboard.press("End");
    expect(await tab.locator("[data-outcome]").count()).toBe(1);
  });

  test("the focus goes through everything, is seen, and comes out at the end", async () => {
    const tab = await openPlayground("#story=pause");
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
    expect(reachable.length).toBeGreaterThan(20);
    expect([...seen]).toEqual(expect.arrayContaining(reachable));
  });
});

/** More than the number of elements that can have the focus. */
const mostPresses = 200;

/** Presses the tabulator until an element has the focus. */
async function tabTo(tab: Page, selector: string): Promise<void> {
  const wanted = tab.locator(`${selector}:focus`);
  for (let presses = 0; presses < mostPresses && (await wanted.count()) === 0; presses++) {
    await tab.keyboard.press("Tab");
  }
  expect(await wanted.count(), `the focus reaches ${selector}`).toBe(1);
}

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
