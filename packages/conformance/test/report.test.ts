import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { writeReport } from "../src/report.ts";
import type { Offers } from "../src/topics.ts";
import { inThisProcess, noOtherProcess } from "./subjects.ts";

test("writeReport() writes a separate page for each name, with any characters", async () => {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-reports-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  vi.stubEnv("HOLDFAST_CONFORMANCE_REPORT", folder);
  onTestFinished(() => void vi.unstubAllEnvs());
  const offers = {} as Offers; // none
  const settings = { cannot: new Map(), noServer: inThisProcess, noOtherProcess };
  for (const name of [
    "my node (v1)",
    "my node v1",
    "My Node V1",
    "🔒",
    "🗝",
    "../up",
    "n".repeat(500),
    "名".repeat(500),
  ]) {
    await writeReport({ name, offers, settings, topics: [], unselected: 0 });
  }
  const files = await readdir(folder);
  expect(files).toHaveLength(8);
  expect(new Set(files.map((file) => file.toLowerCase())).size).toBe(files.length);
  for (const file of files) expect(file).toMatch(/^[\p{L}\p{N}-]+\.md$/u);
});
