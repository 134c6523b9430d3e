import { readFile } from "node:fs/promises";
import { isNightly } from "@holdfast/testkit";
import { expect, test } from "vitest";
import { outputOf, pageAbout } from "./pages.ts";
import { startServers } from "./servers.ts";

const servers = await startServers(3);
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
    ["A semaphore before", "two of five"],
    ["A semaphore after", "two of five"],
    ["Side by side", "null", "false"],
  ],
  "from-redlock-universal": [
    ["Before", alone],
    ["After", alone],
    ["Side by side", "null", "LockAcquisitionError"],
  ],
};

/** In `pnpm test`, the page about the library that most readers come from. */
const selected = Object.entries(pages).slice(0, isNightly ? undefined : 1);

test.concurrent.each(selected)(
  "the code of %s.md prints what the page says",
  async (name, expected) => {
    const printed = await outputOf(name, (code, heading) => runnable(code, heading, name));
    expect(printed).toEqual(expected.flat());
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

/**
 * Waits for the replies of all servers. Version 5 resolves when a majority has released. If the reply of another server
 * arrives during `quit()`, and asks for the text of the script, version 5 sends it over a closed connection, and `quit()`
 * rejects.
 */
const afterReleases = `for (const _ of ["the hash", "the text"]) await Promise.all(clients.map((client) => client.ping()));
`;

/** Adapts the code: ports, the names of both versions of one package, and a database for each page. */
function runnable(code: string, heading: string, page: string): string {
  const database = Object.keys(pages).indexOf(page);
  return servers
    .reduce((text, { port }, index) => text.replaceAll(`${7001 + index}`, `${port}`), code)
    .replace('from "redlock"', heading === "Version 4" ? 'from "redlock4"' : 'from "redlock5"')
    .replace(/^(?=await redlock\.quit)/m, heading === "Version 5" ? afterReleases : "")
    .replaceAll("new Redis({ port })", `new Redis({ port, db: ${4 + database} })`);
}
