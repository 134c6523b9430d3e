import { randomUUID } from "node:crypto";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { memoryNode } from "@holdfast/memory";
import { readmeExamples } from "@holdfast/testkit";
import { expect, test } from "vitest";
import { startNodeServer } from "./fixtures/node-server.ts";
import { childTimeoutMs, runVitest } from "./vitest-child.ts";

const inPackage = (path: string): string => fileURLToPath(new URL(`../${path}`, import.meta.url));

test(
  "the files that the README shows are a conformance test and a test of broken nodes, and pass",
  async () => {
    // Inside the package, so that they import what a user's files would, and not under version control.
    const server = await startNodeServer(() => memoryNode());
    const folder = inPackage(`reports/readme-${randomUUID()}`);
    await mkdir(folder, { recursive: true });
    try {
      for (const { code } of await readmeExamples(inPackage("README.md"))) {
        const [, name = "which file?"] = /^\/\/ (\S+\.ts)\n/.exec(code) ?? [];
        await writeFile(join(folder, name), code.replace("7001", String(server.port)));
      }
      // Stands in for the adapter of a reader.
      const client = JSON.stringify(inPackage("test/fixtures/node-server.ts"));
      await writeFile(join(folder, "my-node.ts"), `export { connectNode as openMyNode } from ${client};\n`);
      const results = await runVitest(folder);
      expect(results.filter(({ status }) => status === "failed")).toEqual([]);
      expect(results.filter(({ status }) => status === "passed").length).toBeGreaterThan(180);
    } finally {
      await rm(folder, { recursive: true });
      await server.close();
    }
  },
  childTimeoutMs,
);
