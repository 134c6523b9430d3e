/** Seeds take long to simulate, and show what only they have: an operator, and ten nodes. */
import { beforeAll, expect, test } from "vitest";
import { momentAt } from "../src/playground/moment.ts";
import { runOf } from "./support/runs.ts";
import { show, useTab } from "./support/site.ts";

const tab = useTab();

beforeAll(() => show(tab(), "/playground"));

async function showSeed(hash: string): Promise<void> {
  await tab().goto("about:blank");
  await show(tab(), `/playground${hash}`);
  await tab().locator("[data-playground][data-state=ready]").waitFor();
}

test("the picture draws no message of the operator, who has no card", async () => {
  const { trace } = await runOf("#healed=3");
  const sent = trace.messages.find(({ from }) => from === "operator");
  const atMs = ((sent?.sentAtMs ?? 0) + (sent?.arrivesAtMs ?? 0)) / 2;
  await showSeed(`#healed=3&t=${atMs.toFixed(3)}`);
  const shownMs = Number(await tab().locator("[data-now]").getAttribute("data-now"));
  expect(momentAt(trace, shownMs).messages.map(({ from }) => from)).toContain("operator");
  await tab().locator(".traffic .link").first().waitFor();
  expect(await tab().locator(".traffic .dot", { hasText: "raise floor" }).count()).toBe(0);
});

test("the picture keeps the words of ten nodes in one line each", async () => {
  await showSeed("#changing=3&t=61000");
  const heights = await tab()
    .locator("[data-counter]")
    .evaluateAll((items) => items.map((item) => item.getBoundingClientRect().height));
  expect(heights).toHaveLength(10);
  expect(Math.max(...heights)).toBeLessThan(40);
});
