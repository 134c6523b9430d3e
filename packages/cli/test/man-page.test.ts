import { spawnSync } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { commands } from "../src/command-line.ts";
import { helpOf } from "../src/help.ts";
import { manPage } from "./man/page.ts";
import { packageFolder } from "./support/program.ts";

const {
  man: [file],
} = JSON.parse(await readFile(join(packageFolder, "package.json"), "utf8"));

test("holdfast.1 has the texts of --help (vitest -u writes the page)", async () => {
  await expect(manPage()).toMatchFileSnapshot(join(packageFolder, file));
});

test("holdfast.1 shows the usage, every option and every example of --help", async () => {
  const page = rendered(manPage()).replaceAll(/\s+/g, " ");
  let options = 0;
  for (const command of commands) {
    const help = helpOf(command);
    const [usage = ""] = help.replaceAll("…", "...").split("\n");
    const [, examples = ""] = /^Examples:\n([\s\S]+?)\n\n/m.exec(help) ?? [];
    for (const line of [usage, ...examples.split("\n")]) expect(page).toContain(line.trim());
    for (const [option] of help.matchAll(/(?<= )--[a-z-]+/g)) {
      if (option !== "--version" && option !== "--help") expect(page).toContain(` ${option}`);
      options += 1;
    }
  }
  expect(options).toBeGreaterThan(150);
});

/** Returns the page as groff shows it, without a warning; where there is no groff, its source without escapes. */
function rendered(source: string): string {
  const known = /^(\.\\"|\.(TH|SH|SS|TP|B|I) .|\.(TP|nf|fi)$|[^.'\\]|\\(f|-|&|\(..)|$)/;
  for (const line of source.split("\n")) expect(line).toMatch(known);
  const groff = spawnSync("groff", ["-man", "-Tascii", "-ww", "-P-cbou"], { input: source, encoding: "utf8" });
  if (groff.error !== undefined) return unescaped(source);
  expect(groff).toMatchObject({ status: 0, stderr: "" });
  return groff.stdout;
}

function unescaped(source: string): string {
  const characters = new Map(Object.entries({ "\\-": "-", "\\(aq": "'", "\\(dq": '"' }));
  return source.replaceAll(/^\.\w+ "?/gm, "").replaceAll(/\\(f.|-|&|\(..)/g, (name) => characters.get(name) ?? "");
}
