import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { runProgram } from "@holdfast/testkit";
import { expect, onTestFinished, test } from "vitest";

const app = fileURLToPath(new URL("..", import.meta.url));

/** Runs the benchmark. Resolves with its output and the folder of its report. */
async function bench(...args: readonly string[]) {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-bench-test-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const { code, out, err } = await runProgram(join(app, "src/main.ts"), [...args, "--out", folder], { cwd: app });
  expect({ code, err }).toEqual({ code: 0, err: "" });
  return { out, folder };
}

test("bench measures a workload with all its contenders, writes a report, and leaves nothing running", async () => {
  const { out, folder } = await bench("--quick", "--only", "counts");
  expect(out).toMatch(/^6 slices in 2 cells \(counts\): about 1 min\.$/m);
  expect(out).toMatch(/counts, one at a time +holdfast\/ioredis +[\d.]+ commands/);
  expect(out).toContain(`The report is ${join(folder, "README.md")}.`);
  expect(await readFile(join(folder, "README.md"), "utf8")).toContain("## What a lock costs, counted");
  const { rows } = JSON.parse(await readFile(join(folder, "figures.json"), "utf8"));
  expect(rows).toHaveLength(6);
  expect(rows.every((row: object) => "commandsPerNode" in row)).toBe(true);
});

test("bench measures stores, writes a page, and leaves nothing running", async () => {
  const { out, folder } = await bench("stores", "--quick", "--rounds", "1", "--only", "two-names");
  expect(out).toMatch(/^10 slices in 2 cells \(two-names\): about 1 min\.$/m);
  const page = await readFile(join(folder, "benchmark-stores.md"), "utf8");
  expect(page.match(/^\| \*\*holdfast\/\w+\*\* \| [1-9]/gm)).toHaveLength(10);
  expect(page).not.toContain("NaN");
});

test("bench measures waiting with guests of other kinds, and writes a page", { timeout: 120_000 }, async () => {
  const { out, folder } = await bench("--quick", "--only", "deaf,other-library");
  expect(out).toMatch(/^2 slices in 2 cells \(deaf, other-library\): about 1 min\.$/m);
  const page = await readFile(join(folder, "README.md"), "utf8");
  expect(page).toMatch(/^\| \*\*holdfast\/memory\*\* \| [1-9].*\| 0 \|$/m);
  expect(page).toMatch(/^\| \*\*holdfast\/ioredis\*\* \| [1-9].*\| 0 \|$/m);
});
