import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { readmeExamples, runExample } from "@holdfast/docs-testkit";
import { expect, test } from "vitest";
import { pageAbout } from "./pages.ts";
import { startServers } from "./servers.ts";

const servers = await startServers(3);
const interop = fileURLToPath(new URL("..", import.meta.url));
const alone = "alone with invoice:42";

/** The output of the code under each heading of a page. */
const pages = {
  "from-redlock": [
    ["Version 4", alone],
    ["Version 5", alone],
    ["Holdfast", alone],
    ["Side by side", "null", "ExecutionError"],
  ],
  "from-sesamecare-redlock": [
    ["Before", `${alone} after 0 extensions`],
    ["After", `${alone} after 0 extensions`],
    ["Side by side", "null", "ExecutionError"],
  ],
  "from-redis-semaphore": [
    ["Before", alone],
    ["After", alone],
    ["Side by side", "null", "false"],
  ],
  "from-redlock-universal": [
    ["Before", alone],
    ["After", alone],
    ["Side by side", "null", "LockAcquisitionError"],
  ],
};

test.concurrent.each(Object.entries(pages))(
  "the code of %s.md prints what the page says",
  async (name, expected) => {
    const printed = await runExample(await programOf(name), interop, 90_000);
    expect(printed.trimEnd().split("\n")).toEqual(expected.flat());
  },
  100_000,
);

test("running-both.md names the tested versions", async () => {
  const page = await readFile(pageAbout("running-both"), "utf8");
  const { dependencies } = JSON.parse(await readFile(new URL("../package.json", import.meta.url), "utf8"));
  for (const name of ["redlock4", "redlock5", "@sesamecare-oss/redlock", "redis-semaphore", "redlock-universal"]) {
    expect(page).toContain(dependencies[name].replace("npm:redlock@", ""));
  }
});

/** A program that runs all code of a page, with the headings in between. One program per heading would take far longer. */
async function programOf(name: string): Promise<string> {
  const reports = join(interop, "reports");
  await mkdir(reports, { recursive: true });
  const steps: string[] = [];
  for (const { heading, code, line } of await readmeExamples(pageAbout(name))) {
    const file = `${name}-${line}.ts`;
    await writeFile(join(reports, file), runnable(code, heading, name));
    steps.push(`console.log(${JSON.stringify(heading)});`, `await import("./${file}");`);
  }
  return steps.join("\n");
}

/** Adapts the code: ports, the names of both versions of one package, and a database for each page. */
function runnable(code: string, heading: string, page: string): string {
  const database = Object.keys(pages).indexOf(page);
  return servers
    .reduce((text, { port }, index) => text.replaceAll(`${7001 + index}`, `${port}`), code)
    .replace('from "redlock"', heading === "Version 4" ? 'from "redlock4"' : 'from "redlock5"')
    .replaceAll("new Redis({ port })", `new Redis({ port, db: ${4 + database} })`);
}
