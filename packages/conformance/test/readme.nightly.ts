import { randomUUID } from "node:crypto";
import { cp, mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { readmeExamples } from "@holdfast/docs-testkit";
import { startRedisServer } from "@holdfast/testkit";
import { expect, test } from "vitest";
import { childTimeoutMs, runVitest } from "./vitest-child.ts";

const inPackages = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url));

test(
  "README.md's files make up a conformance test and a test of broken nodes, which pass",
  async () => {
    // Inside a package that uses the suite, so that imports resolve as in a user's project, and ignored by git.
    const server = await startRedisServer();
    const folder = inPackages(`ioredis/reports/readme-${randomUUID()}`);
    await mkdir(folder, { recursive: true });
    try {
      for (const { code } of await readmeExamples(inPackages("conformance/README.md"))) {
        const [, name = "unnamed"] = /^\/\/ (\S+\.ts)\n/.exec(code) ?? [];
        await writeFile(join(folder, name), code.replace("7001", String(server.port)));
      }
      await cp(inPackages("ioredis/test/fixtures/my-node.ts"), join(folder, "my-node.ts"));
      // Other tests run the rest of the suite, and all broken nodes.
      const { results } = await runVitest(
        folder,
        {},
        / release release\(\)| takeover acquire\(\)|caught by "release\(\) (frees|keeps|leaves)/,
      );
      expect(results.filter(({ status }) => status === "failed")).toEqual([]);
      const passed = results.filter(({ status }) => status === "passed");
      const broken = passed.filter(({ title }) => title.includes("caught by"));
      expect(broken.length).toBeGreaterThan(4);
      expect(passed.length - broken.length).toBeGreaterThan(10);
    } finally {
      await rm(folder, { recursive: true });
      await server.stop();
    }
  },
  childTimeoutMs,
);
