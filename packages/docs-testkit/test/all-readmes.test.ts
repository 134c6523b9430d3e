import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { isNightly } from "@holdfast/testkit";
import { describe, expect, test } from "vitest";
import { readmeExamples, runExample } from "../src/index.ts";

const packages = fileURLToPath(new URL("../../", import.meta.url));
const quickStart = /^alone with invoice:42, fence \d{16}\n$/;

/** The output of each example, for each package whose README has any. */
const outputs: Readonly<Record<string, readonly (RegExp | string)[]>> = {
  core: [
    /^from:7 and to:9 for [\d.]+ ms, fence \d+ > \d+\nhost-3\ncould not lock nightly-report: waited 100 ms; this process has held nightly-report for \d+ ms/,
    "true\n",
    /^fence \d+: nobody else makes this report\nfence \d+\n$/,
    /^could not lock account:7: it is called within the lock on account:7, and would wait for itself/,
    /^2 of 5 permits, 2 fences\nslot [0-4] null\n$/,
    /^host-3 leads in term \d{16}\n$/,
    '{"ok":true,"reachable":3,"quorum":2,',
    "held\nnot-held\n",
  ],
  membership: ["alone, in both sets\nalone, in the new set\n"],
  memory: [quickStart],
  redis: [/^\{ owner: null, remainingMs: null, fence: 0 \}\n$/, /^100 EUR\n$/],
  ioredis: [quickStart, /^visit 1\n$/],
  "node-redis": [quickStart, /^visit 1\n$/],
  "valkey-glide": [quickStart],
  postgres: [quickStart, quickStart, "[ { amount: 70 } ]\n"],
  mysql: [
    quickStart,
    "[ { amount: 70 } ]\n",
    /^LF409 could not register a read of lock account:7 .*\nLF428 could not write .*\n\[ \{ balance: 150 \} \]\n$/,
  ],
  sqlite: [quickStart],
  etcd: [quickStart],
  compat: [quickStart, "2 of five\n"],
  "web-locks": ["exclusive cart\n42\ngot it\n1\n"],
  history: [
    "correct: 1 lock, 2 accesses\n",
    /^stale write\n +ms +who +what\n[\s\S]+VIOLATED +stale write: .+ token 7 was accepted after a read with token 8\nlinearizability\n/,
  ],
  cron: ["in one process of all\n", /^reports with fence \d{16}\n$/],
  nest: [/^alone with 42, fence \d{16}\n$/, /^a step in term \d{16}\nled\n$/],
  opentelemetry: [/^measured and traced, fence \d+$/m, /holdfast\.lock\.hold\.duration/],
  simulation: [
    /^20 runs, \d+ locks, 0 unexpected violations$/m,
    await timelineOfSimulation(),
    /^seed \d+: .+$/m,
    /VIOLATED +mutual exclusion[\s\S]+\[ 'the storage that checks nothing has lost an update' \]/,
    /^C kept 1\.1 from 4 to 30 ms: expired$/m,
  ],
};

/**
 * The example of the suite is a test file, which its package runs in its own tests. Those of the simulation run many worlds,
 * as its other tests do.
 */
const testedElsewhere = ["conformance", ...(isNightly ? [] : ["simulation"])];

async function timelineOfSimulation(): Promise<string> {
  const page = await readFile(`${packages}simulation/README.md`, "utf8");
  return /```text\n([\s\S]+?)```/.exec(page)?.[1] ?? "no timeline";
}

const folders = (await readdir(packages)).filter((folder) => existsSync(`${packages}${folder}/README.md`));
const readmes = await Promise.all(
  folders.map(async (folder) => ({ folder, examples: await readmeExamples(`${packages}${folder}/README.md`) })),
);

describe.concurrent("README.md", { timeout: 120_000 }, () => {
  for (const { folder, examples } of readmes) {
    if (testedElsewhere.includes(folder)) continue;
    test(`${folder} has as many examples as outputs`, () => {
      expect(examples).toHaveLength(outputs[folder]?.length ?? 0);
    });
    for (const [index, { code, line }] of examples.entries()) {
      test(`${folder}: the example on line ${line} prints what it should`, async () => {
        expect(await runExample(code, `${packages}${folder}`)).toMatch(outputs[folder]?.[index] ?? "no such output");
      });
    }
  }
});
