import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";

async function page(name: string): Promise<string> {
  return readFile(new URL(`../../../docs/${name}`, import.meta.url), "utf8");
}

/** Returns the figures of one nemesis in the report. */
function figuresOf(report: string, nemesis: string) {
  const row =
    report.split("\n").find((line) => line.startsWith(`| [${nemesis}](`) || line.startsWith(`| ${nemesis} |`)) ?? "";
  const [, , , attacks, , available, , twoAtOnce, lostWithoutTokens, lostWithTokens] = row
    .split("|")
    .map((cell) => cell.trim());
  return { attacks, available, twoAtOnce, lostWithoutTokens, lostWithTokens };
}

test("docs/guarantees.md quotes the figures of docs/generated/chaos", async () => {
  const [guide, report] = [await page("guarantees.md"), await page("generated/chaos/README.md")];
  const lineOf = (beginning: string) => guide.split("\n").find((line) => line.startsWith(`| ${beginning}`));
  const of = (nemesis: string) => figuresOf(report, nemesis);
  const twoAtOnce = (nemesis: string) => `${of(nemesis).twoAtOnce} of ${of(nemesis).attacks}`;

  const pause = of("client-pause-long");
  expect(lineOf("The holder is paused")).toContain(`${pause.lostWithoutTokens} of ${pause.attacks} lost an update`);
  expect(lineOf("A server restarts")).toContain(`bare: ${twoAtOnce("crash-forgetting")}. `);
  for (const nemesis of ["crash-guarded", "crash-always"]) {
    expect(lineOf("A server restarts")).toContain(`\`appendfsync always\`: ${twoAtOnce(nemesis)} |`);
  }
  expect(lineOf("The power fails")).toContain(`bare: ${twoAtOnce("power-cut-everysec")} |`);
  expect(lineOf("A server's clock is set ahead")).toContain(`bare: ${twoAtOnce("clock-forward")} |`);
  const isDown = lineOf("A server is down");
  expect(isDown).toContain(`${of("unreachable").available} available where a minority refused connections`);
  expect(isDown).toContain(`${of("server-pause").available} where it was stopped`);
  expect(isDown).toContain(`${of("lose-replies").available} where its answers were lost`);

  const nemeses = [...report.matchAll(/^\| \[?([\w-]+)(?:\]\(#[\w-]+\))? \|.*\| \d+ \|$/gm)].map(([, nemesis]) =>
    of(nemesis as string),
  );
  expect(nemeses.length).toBeGreaterThan(20);
  for (const { lostWithTokens } of nemeses) expect(lostWithTokens).toBe("0");
});
