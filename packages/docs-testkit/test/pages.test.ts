import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { freePort } from "@holdfast/testkit";
import { expect, test } from "vitest";
import { readmeExamples, runExample } from "../src/index.ts";

const root = fileURLToPath(new URL("../../..", import.meta.url));

/** The output of each example of pages other than READMEs, as a program of a package. */
test.each([
  ["docs/election.md", "memory", [/^step in term \d{16}\nnobody leads\n$/, /^(vacant\n)?host-1 leads\n$/]],
  ["docs/changing-servers.md", "ioredis", [/^locked on 2 servers\n$/]],
  [
    "docs/guarded-tables.md",
    "postgres",
    [/^LF409 could not register a read of lock account:7 .*\nLF428 could not write .*\n\[ \{ balance: 150 \} \]\n$/],
  ],
  ["docs/monitoring.md", "opentelemetry", [/^holdfast_lock_count\{.*\} 1\n$/]],
] as const)("the examples of %s print what they should", { timeout: 90_000 }, async (page, folder, outputs) => {
  const examples = await readmeExamples(resolve(root, page));
  expect(examples).toHaveLength(outputs.length);
  for (const [index, { code }] of examples.entries()) {
    const free = code.replaceAll("9464", String(await freePort()));
    expect(await runExample(free, resolve(root, "packages", folder))).toMatch(outputs[index] as RegExp);
  }
});

test.each([
  ["0", /^200 alive\n\n200 \{"ok":true,"reachable":3,"quorum":2,/],
  ["60_000", /^200 alive\n\n503 \{"ok":false,.*"recovering from a restart, /],
])(
  "docs/kubernetes.md: the service answers probes, with a guard of %s ms, and ends after SIGTERM",
  async (guard, printed) => {
    const [service] = await readmeExamples(resolve(root, "docs/kubernetes.md"));
    const port = await freePort();
    const code = service?.code.replace("60_000", guard).replace("listen(8080)", `listen(${port}, "127.0.0.1")`);
    const probes = `
    for (const path of ["/live", "/ready"]) {
      const reply = await fetch("http://127.0.0.1:${port}" + path);
      console.log(reply.status, await reply.text());
    }
    process.kill(process.pid, "SIGTERM");`;
    expect(await runExample(code + probes, resolve(root, "packages/ioredis"))).toMatch(printed);
  },
);

test.each([
  ["docs/testing.md", ["test/testing-code.test.ts"]],
  ["docs/frameworks/overview.md", ["src/locks.ts", "src/invoices.ts", "src/http.ts"]],
  ["docs/frameworks/express.md", ["src/express-server.ts"]],
  ["docs/frameworks/nestjs.md", ["src/nest/app.module.ts", "src/nest/main.ts"]],
  ["docs/frameworks/bullmq.md", ["src/bullmq-worker.ts", "src/handed-job.ts"]],
  ["docs/frameworks/nextjs.md", ["src/serverless-route.ts"]],
])("%s shows files of recipes unchanged", async (page, files) => {
  const shown = (await readmeExamples(resolve(root, page))).map(({ code }) => `${code}\n`);
  expect(shown).toEqual(await Promise.all(files.map((file) => readFile(resolve(root, "apps/recipes", file), "utf8"))));
});
