import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { readmeExamples, runExample } from "@holdfast/testkit";
import { describe, expect, test } from "vitest";
import { pageAbout } from "./pages.ts";
import { startServers } from "./servers.ts";

const servers = await startServers(3);
const interop = fileURLToPath(new URL("..", import.meta.url));
const alone = "alone with invoice:42\n";

// All examples run at once, each on a resource of its own: 42 is only what readers see.
let resources = 100;

/** What the code under each heading of a page prints. */
const pages = {
  "from-redlock": {
    "Version 4": alone,
    "Version 5": alone,
    Holdfast: alone,
    "Side by side": "null\nExecutionError\n",
  },
  "from-sesamecare-redlock": {
    Before: "alone with invoice:42 after 0 extensions\n",
    After: "alone with invoice:42 after 0 extensions\n",
    "Side by side": "null\nExecutionError\n",
  },
  "from-redis-semaphore": { Before: alone, After: alone, "Side by side": "null\nfalse\n" },
  "from-redlock-universal": { Before: alone, After: alone, "Side by side": "null\nLockAcquisitionError\n" },
};

test("running-both.md names the versions that are tested", async () => {
  const page = await readFile(pageAbout("running-both"), "utf8");
  const { dependencies } = JSON.parse(await readFile(new URL("../package.json", import.meta.url), "utf8"));
  for (const name of ["redlock4", "redlock5", "@sesamecare-oss/redlock", "redis-semaphore", "redlock-universal"]) {
    expect(page).toContain(dependencies[name].replace("npm:redlock@", ""));
  }
});

describe.each(Object.entries(pages))("%s.md", async (name, expected) => {
  const examples = await readmeExamples(pageAbout(name));

  test("has the examples that are known here", () => {
    expect(examples.map(({ heading }) => heading)).toEqual(Object.keys(expected));
  });

  test.concurrent.each(examples)(
    "the code under $heading does what it says",
    async ({ heading, code }) => {
      const resource = `invoice:${++resources}`;
      // Two versions of one package can only be installed under other names.
      let runnable = code
        .replace('from "redlock"', heading === "Version 4" ? 'from "redlock4"' : 'from "redlock5"')
        .replaceAll("invoice:42", resource);
      for (const [index, { port }] of servers.entries()) runnable = runnable.replaceAll(`${7001 + index}`, `${port}`);
      const printed = await runExample(runnable, interop, 90_000);
      expect(printed.replaceAll(resource, "invoice:42")).toBe(expected[heading as keyof typeof expected]);
    },
    100_000,
  );
});
