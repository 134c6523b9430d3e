import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type ProgramOptions, runProgram } from "@holdfast/testkit";
import { expect, onTestFinished, test } from "vitest";
import type { Recording } from "../src/record.ts";

const app = fileURLToPath(new URL("..", import.meta.url));
const bench = (args: readonly string[], options: Partial<ProgramOptions> = {}) =>
  runProgram(join(app, "src/main.ts"), args, { cwd: app, ...options });

test("bench measures a workload with all its contenders, writes a report, and leaves nothing running", async () => {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-bench-test-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const { code, out, err } = await bench(["--quick", "--only", "counts", "--out", folder]);
  expect({ code, err }).toEqual({ code: 0, err: "" });
  expect(out).toMatch(/counts, one at a time +holdfast\/ioredis +[\d.]+ commands/);
  expect(out).toContain(`The report is ${join(folder, "README.md")}.`);
  expect(await readFile(join(folder, "README.md"), "utf8")).toContain("## What a lock takes, counted");
  const { turns }: Recording = JSON.parse(await readFile(join(folder, "figures.json"), "utf8"));
  expect(turns).toHaveLength(6);
  expect(turns.filter(({ error }) => error !== undefined)).toEqual([]);
});

test("bench stops at a signal, without a report, and leaves nothing running", async () => {
  const before = await readdir(tmpdir());
  const { code, out } = await bench(["--quick", "--only", "counts"], {
    onOutput: (text, child) => text.startsWith("Up to") && child.kill("SIGINT"),
  });
  expect({ code, out }).toEqual({ code: 130, out: expect.stringContaining("Stopped before the end: no report.") });
  expect(
    (await readdir(tmpdir())).filter((name) => name.startsWith("holdfast-bench-") && !before.includes(name)),
  ).toEqual([]);
});

test("bench ends with 2 for what it cannot do, and says why", async () => {
  expect(await bench(["--only", "speed"])).toEqual({
    ...{ code: 2, out: "" },
    err: 'bench: there is no workload "speed": see --list\nTry --help.\n',
  });
});
